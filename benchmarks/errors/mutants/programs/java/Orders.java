package shop;

import java.util.ArrayList;
import java.util.List;

public class Orders {
    public static class Item {
        public final String name;
        public final Integer price;
        public int count;

        public Item(String name, Integer price, int count) {
            this.name = name;
            this.price = price;
            this.count = count;
        }
    }

    public static Item parseLine(String line) {
        String[] parts = line.split(",");
        String name = parts[0].trim();
        int price = Integer.parseInt(parts[1].trim());
        int count = Integer.parseInt(parts[2].trim());
        return new Item(name, price, count);
    }

    public static List<Item> parseOrder(String text) {
        List<Item> items = new ArrayList<>();
        for (String line : text.split("\n")) {
            items.add(parseLine(line));
        }
        return items;
    }

    public static Item findItem(List<Item> items, String name) {
        for (Item item : items) {
            if (item.name.equals(name)) {
                return item;
            }
        }
        return null;
    }

    static int lineTotal(Item item) {
        return item.price * item.count;
    }

    public static int subtotal(List<Item> items) {
        int total = 0;
        for (Item item : items) {
            total = total + lineTotal(item);
        }
        return total;
    }

    public static int discount(int amount, int percent) {
        if (percent > 100) {
            throw new IllegalArgumentException("more than all of it: " + percent);
        }
        return amount * percent / 100;
    }

    public static int shipping(int amount, int weight) {
        if (amount >= 5000) {
            return 0;
        }
        return 300 + weight * 20;
    }

    public static int due(List<Item> items, int percent, int weight) {
        int amount = subtotal(items);
        int less = discount(amount, percent);
        int sent = shipping(amount - less, weight);
        return amount - less + sent;
    }

    public static String mostExpensive(List<Item> items) {
        Item best = items.get(0);
        for (Item item : items.subList(1, items.size())) {
            if (item.price > best.price) {
                best = item;
            }
        }
        return best.name;
    }

    public static int restock(List<Item> items, String name, int more) {
        Item item = findItem(items, name);
        item.count = item.count + more;
        return item.count;
    }
}
