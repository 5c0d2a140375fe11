package shop;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import java.util.List;
import org.junit.Test;

public class OrdersTest {
    private static final String TEXT = "tea,450,2\nmilk,120,3\nbread,380,1\n";

    @Test
    public void lineHasName() {
        assertEquals("tea", Orders.parseLine("tea, 450, 2").name);
    }

    @Test
    public void lineHasPriceAndCount() {
        Orders.Item item = Orders.parseLine("tea,450,2");
        assertArrayEquals(new int[] {450, 2}, new int[] {item.price, item.count});
    }

    @Test
    public void orderHasAllLines() {
        List<Orders.Item> items = Orders.parseOrder(TEXT);
        assertEquals(3, items.size());
        assertEquals("bread", items.get(2).name);
    }

    @Test
    public void itemIsFound() {
        assertEquals(Integer.valueOf(120), Orders.findItem(Orders.parseOrder(TEXT), "milk").price);
    }

    @Test
    public void unknownItemIsNull() {
        assertNull(Orders.findItem(Orders.parseOrder(TEXT), "salt"));
    }

    @Test
    public void subtotalCountsEveryLine() {
        assertEquals(1640, Orders.subtotal(Orders.parseOrder(TEXT)));
    }

    @Test
    public void discountIsShare() {
        assertEquals(410, Orders.discount(1640, 25));
    }

    @Test(expected = IllegalArgumentException.class)
    public void discountOfMoreThanAllIsRefused() {
        Orders.discount(100, 101);
    }

    @Test
    public void discountOfAll() {
        assertEquals(80, Orders.discount(80, 100));
    }

    @Test
    public void shippingGrowsWithWeight() {
        assertEquals(440, Orders.shipping(4999, 7));
    }

    @Test
    public void shippingOfLargeOrdersIsFree() {
        assertEquals(0, Orders.shipping(5000, 7));
    }

    @Test
    public void receiptAddsUp() {
        assertEquals(1670, Orders.due(Orders.parseOrder(TEXT), 25, 7));
    }

    @Test
    public void mostExpensive() {
        assertEquals("tea", Orders.mostExpensive(Orders.parseOrder(TEXT)));
    }

    @Test
    public void mostExpensiveOfTwo() {
        assertEquals("bread", Orders.mostExpensive(Orders.parseOrder("milk,120,3\nbread,380,1")));
    }

    @Test
    public void moreIsPutInStock() {
        assertEquals(8, Orders.restock(Orders.parseOrder(TEXT), "milk", 5));
    }
}
