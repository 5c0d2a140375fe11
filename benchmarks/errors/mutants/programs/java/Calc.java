package shop;

import java.util.ArrayList;
import java.util.List;

public class Calc {
    private final List<String> words;
    private int at = 0;

    Calc(String text) {
        words = tokens(text);
    }

    public static List<String> tokens(String text) {
        List<String> found = new ArrayList<>();
        int at = 0;
        while (at < text.length()) {
            if (text.charAt(at) == ' ') {
                at = at + 1;
                continue;
            }
            int end = at + 1;
            if (Character.isDigit(text.charAt(at))) {
                while (end < text.length() && Character.isDigit(text.charAt(end))) {
                    end = end + 1;
                }
            }
            found.add(text.substring(at, end));
            at = end;
        }
        return found;
    }

    String peek() {
        if (at < words.size()) {
            return words.get(at);
        }
        return "";
    }

    String take() {
        String word = words.get(at);
        at = at + 1;
        return word;
    }

    int total() {
        int value = product();
        while (peek().equals("+") || peek().equals("-")) {
            if (take().equals("+")) {
                value = value + product();
            } else {
                value = value - product();
            }
        }
        return value;
    }

    int product() {
        int value = factor();
        while (peek().equals("*") || peek().equals("/")) {
            if (take().equals("*")) {
                value = value * factor();
            } else {
                value = value / factor();
            }
        }
        return value;
    }

    int factor() {
        String word = take();
        if (word.equals("(")) {
            int value = total();
            take();
            return value;
        }
        if (word.equals("-")) {
            return 0 - factor();
        }
        return Integer.parseInt(word);
    }

    public static int evaluate(String text) {
        Calc calc = new Calc(text);
        int value = calc.total();
        if (calc.at < calc.words.size()) {
            throw new IllegalArgumentException("left over: " + calc.peek());
        }
        return value;
    }
}
