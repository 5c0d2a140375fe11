package shop

import (
	"reflect"
	"testing"
)

const text = "tea,450,2\nmilk,120,3\nbread,380,1\n"

func order(t *testing.T) []*Item {
	t.Helper()
	items, err := ParseOrder(text)
	if err != nil {
		t.Fatalf("the order is not read: %v", err)
	}
	return items
}

func TestNameOfLine(t *testing.T) {
	item, err := ParseLine("tea, 450, 2")
	if err != nil {
		t.Fatal(err)
	}
	if item.Name != "tea" {
		t.Errorf("Name = %q, want %q", item.Name, "tea")
	}
}

func TestPriceOfLine(t *testing.T) {
	item, err := ParseLine("tea,450,2")
	if err != nil {
		t.Fatal(err)
	}
	if item.Price != 450 || item.Count != 2 {
		t.Errorf("got %d and %d, want 450 and 2", item.Price, item.Count)
	}
}

func TestAllLines(t *testing.T) {
	if items := order(t); len(items) != 3 {
		t.Fatalf("%d lines, want 3", len(items))
	}
}

func TestFindItem(t *testing.T) {
	if item := FindItem(order(t), "milk"); item.Price != 120 {
		t.Errorf("Price = %d, want 120", item.Price)
	}
}

func TestFindNothing(t *testing.T) {
	if item := FindItem(order(t), "salt"); item != nil {
		t.Errorf("found %v", item)
	}
}

func TestSubtotal(t *testing.T) {
	if got := Subtotal(order(t)); got != 1640 {
		t.Errorf("Subtotal() = %d, want 1640", got)
	}
}

func TestDiscount(t *testing.T) {
	if got, err := Discount(1640, 25); err != nil || got != 410 {
		t.Errorf("Discount() = %d, %v, want 410", got, err)
	}
}

func TestDiscountRefused(t *testing.T) {
	if _, err := Discount(100, 101); err == nil {
		t.Error("no error for more than all")
	}
}

func TestDiscountOfAll(t *testing.T) {
	got, err := Discount(80, 100)
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
	if got != 80 {
		t.Errorf("Discount() = %d, want 80", got)
	}
}

func TestShipping(t *testing.T) {
	if got := Shipping(4999, 7); got != 440 {
		t.Errorf("Shipping() = %d, want 440", got)
	}
}

func TestFreeShipping(t *testing.T) {
	if got := Shipping(5000, 7); got != 0 {
		t.Errorf("Shipping() = %d, want 0", got)
	}
}

func TestDue(t *testing.T) {
	if got, err := Due(order(t), 25, 7); err != nil || got != 1670 {
		t.Errorf("Due() = %d, %v, want 1670", got, err)
	}
}

func TestMostExpensive(t *testing.T) {
	if got := MostExpensive(order(t)); got != "tea" {
		t.Errorf("MostExpensive() = %q, want tea", got)
	}
}

func TestRestock(t *testing.T) {
	if got := Restock(order(t), "milk", 5); got != 8 {
		t.Errorf("Restock() = %d, want 8", got)
	}
}

func TestTokens(t *testing.T) {
	want := []string{"12", "+", "3", "*", "(", "4", "-", "56", ")"}
	if got := Tokens("12 + 3*(4-56)"); !reflect.DeepEqual(got, want) {
		t.Errorf("Tokens() = %v, want %v", got, want)
	}
}

func TestEvaluate(t *testing.T) {
	for _, one := range []struct {
		name, text string
		want       int
	}{
		{"number", "42", 42}, {"sum", "1 + 20 + 300", 321}, {"difference", "100 - 30 - 7", 63},
		{"product", "2 + 3 * 4", 14}, {"quotient", "90 / 4 / 2", 11}, {"brackets", "(2 + 3) * (4 + 5)", 45},
		{"nested", "2 * (3 + (4 - 1) * 5)", 36}, {"negative", "7 * -3", -21},
	} {
		t.Run(one.name, func(t *testing.T) {
			if got, err := Evaluate(one.text); err != nil || got != one.want {
				t.Errorf("Evaluate(%q) = %d, %v, want %d", one.text, got, err, one.want)
			}
		})
	}
}

func TestLeftOver(t *testing.T) {
	if _, err := Evaluate("1 2"); err == nil {
		t.Error("no error for what is left over")
	}
}

var edges = [][2]string{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"a", "e"}, {"e", "d"}}

func TestBuild(t *testing.T) {
	graph := Build([][2]string{{"x", "y"}})
	if len(graph) != 2 || len(graph["x"]) != 1 {
		t.Errorf("Build() = %v", graph)
	}
}

func TestPath(t *testing.T) {
	if got := Path(Build(edges), "a", "d"); !reflect.DeepEqual(got, []string{"a", "e", "d"}) {
		t.Errorf("Path() = %v, want [a e d]", got)
	}
}

func TestNoPath(t *testing.T) {
	if got := Path(Build(edges), "d", "a"); got != nil {
		t.Errorf("Path() = %v, want nil", got)
	}
}

func TestDistance(t *testing.T) {
	if got := Distance(Build(edges), "a", "c"); got != 2 {
		t.Errorf("Distance() = %d, want 2", got)
	}
}

func TestInOrder(t *testing.T) {
	got, err := InOrder(Build(edges))
	if err != nil {
		t.Fatalf("InOrder: %v", err)
	}
	if want := []string{"a", "b", "e", "c", "d"}; !reflect.DeepEqual(got, want) {
		t.Errorf("InOrder() = %v, want %v", got, want)
	}
}

func TestCycle(t *testing.T) {
	if got, err := InOrder(Build([][2]string{{"a", "b"}, {"b", "a"}})); err == nil {
		t.Errorf("InOrder() = %v, want an error", got)
	}
}

func TestMerged(t *testing.T) {
	if got := Merged([][2]int{{5, 8}, {1, 3}, {3, 4}}); !reflect.DeepEqual(got, [][2]int{{1, 4}, {5, 8}}) {
		t.Errorf("Merged() = %v", got)
	}
}

func TestMergedInside(t *testing.T) {
	if got := Merged([][2]int{{1, 9}, {2, 3}}); got[0][1] != 9 {
		t.Errorf("the end is %d, want 9", got[0][1])
	}
}

func TestCovered(t *testing.T) {
	if got := Covered([][2]int{{1, 4}, {2, 6}, {10, 12}}); got != 7 {
		t.Errorf("Covered() = %d, want 7", got)
	}
}

func TestRecent(t *testing.T) {
	recent := NewRecent(2)
	recent.Put("a", 11)
	if got := recent.Get("a"); got != 11 {
		t.Errorf("Get(a) = %d, want 11", got)
	}
}

func TestRecentEmpty(t *testing.T) {
	if got := NewRecent(2).Get("a"); got != -1 {
		t.Errorf("Get(a) = %d, want -1", got)
	}
}

func TestRecentOldest(t *testing.T) {
	recent := NewRecent(2)
	for at, key := range []string{"a", "b", "c"} {
		recent.Put(key, at)
	}
	if got := []int{recent.Get("a"), recent.Get("b"), recent.Get("c")}; !reflect.DeepEqual(got, []int{-1, 1, 2}) {
		t.Errorf("got %v, want [-1 1 2]", got)
	}
}

func TestRecentUsed(t *testing.T) {
	recent := NewRecent(2)
	recent.Put("a", 1)
	recent.Put("b", 2)
	recent.Get("a")
	recent.Put("c", 3)
	if got := recent.Get("a"); got != 1 {
		t.Fatalf("a is gone: %d", got)
	}
	if got := recent.Get("b"); got != -1 {
		t.Fatalf("b is still there: %d", got)
	}
}
