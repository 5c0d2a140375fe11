package shop;

import static org.junit.Assert.assertEquals;

import java.util.List;
import org.junit.Test;

public class CalcTest {
    @Test
    public void numbersAndSignsAreWords() {
        assertEquals(List.of("12", "+", "3", "*", "(", "4", "-", "56", ")"), Calc.tokens("12 + 3*(4-56)"));
    }

    @Test
    public void number() {
        assertEquals(42, Calc.evaluate("42"));
    }

    @Test
    public void sum() {
        assertEquals(321, Calc.evaluate("1 + 20 + 300"));
    }

    @Test
    public void difference() {
        assertEquals(63, Calc.evaluate("100 - 30 - 7"));
    }

    @Test
    public void productBindsMore() {
        assertEquals(14, Calc.evaluate("2 + 3 * 4"));
    }

    @Test
    public void quotient() {
        assertEquals(11, Calc.evaluate("90 / 4 / 2"));
    }

    @Test
    public void brackets() {
        assertEquals(45, Calc.evaluate("(2 + 3) * (4 + 5)"));
    }

    @Test
    public void bracketsInBrackets() {
        assertEquals(36, Calc.evaluate("2 * (3 + (4 - 1) * 5)"));
    }

    @Test
    public void negativeNumber() {
        assertEquals(-21, Calc.evaluate("7 * -3"));
    }

    @Test(expected = IllegalArgumentException.class)
    public void leftOverIsRefused() {
        Calc.evaluate("1 2");
    }
}
