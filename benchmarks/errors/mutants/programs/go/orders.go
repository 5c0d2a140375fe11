package shop

import (
	"fmt"
	"strconv"
	"strings"
)

type Item struct {
	Name  string
	Price int
	Count int
}

func ParseLine(line string) (*Item, error) {
	parts := strings.Split(line, ",")
	name := strings.TrimSpace(parts[0])
	price, err := strconv.Atoi(strings.TrimSpace(parts[1]))
	if err != nil {
		return nil, fmt.Errorf("price of %s: %w", name, err)
	}
	count, err := strconv.Atoi(strings.TrimSpace(parts[2]))
	if err != nil {
		return nil, fmt.Errorf("count of %s: %w", name, err)
	}
	return &Item{name, price, count}, nil
}

func ParseOrder(text string) ([]*Item, error) {
	items := []*Item{}
	for _, line := range strings.Split(text, "\n") {
		if line == "" {
			continue
		}
		item, err := ParseLine(line)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func FindItem(items []*Item, name string) *Item {
	for _, item := range items {
		if item.Name == name {
			return item
		}
	}
	return nil
}

func LineTotal(item *Item) int {
	return item.Price * item.Count
}

func Subtotal(items []*Item) int {
	total := 0
	for _, item := range items {
		total = total + LineTotal(item)
	}
	return total
}

func Discount(amount, percent int) (int, error) {
	if percent > 100 {
		return 0, fmt.Errorf("more than all of it: %d", percent)
	}
	return amount * percent / 100, nil
}

func Shipping(amount, weight int) int {
	if amount >= 5000 {
		return 0
	}
	return 300 + weight*20
}

func Due(items []*Item, percent, weight int) (int, error) {
	amount := Subtotal(items)
	less, err := Discount(amount, percent)
	if err != nil {
		return 0, err
	}
	sent := Shipping(amount-less, weight)
	return amount - less + sent, nil
}

func MostExpensive(items []*Item) string {
	best := items[0]
	for _, item := range items[1:] {
		if item.Price > best.Price {
			best = item
		}
	}
	return best.Name
}

func Restock(items []*Item, name string, more int) int {
	item := FindItem(items, name)
	item.Count = item.Count + more
	return item.Count
}
