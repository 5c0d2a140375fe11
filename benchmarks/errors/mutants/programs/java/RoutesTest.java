package shop;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import java.util.List;
import org.junit.Test;

public class RoutesTest {
    private static final String[][] EDGES = {{"a", "b"}, {"b", "c"}, {"c", "d"}, {"a", "e"}, {"e", "d"}};

    @Test
    public void graphKnowsItsEnds() {
        assertEquals("{x=[y], y=[]}", Routes.build(new String[][] {{"x", "y"}}).toString());
    }

    @Test
    public void shortestPath() {
        assertEquals(List.of("a", "e", "d"), Routes.path(Routes.build(EDGES), "a", "d"));
    }

    @Test
    public void pathToOneself() {
        assertEquals(List.of("c"), Routes.path(Routes.build(EDGES), "c", "c"));
    }

    @Test
    public void noPath() {
        assertNull(Routes.path(Routes.build(EDGES), "d", "a"));
    }

    @Test
    public void distance() {
        assertEquals(2, Routes.distance(Routes.build(EDGES), "a", "c"));
    }

    @Test
    public void whatComesFirst() {
        assertEquals(List.of("a", "b", "e", "c", "d"), Routes.inOrder(Routes.build(EDGES)));
    }

    @Test(expected = IllegalStateException.class)
    public void cycleHasNoOrder() {
        Routes.inOrder(Routes.build(new String[][] {{"a", "b"}, {"b", "a"}}));
    }

    @Test
    public void spansThatTouchAreOne() {
        List<int[]> spans = Routes.merged(new int[][] {{5, 8}, {1, 3}, {3, 4}});
        assertEquals(2, spans.size());
        assertArrayEquals(new int[] {1, 4}, spans.get(0));
    }

    @Test
    public void spanInsideAnother() {
        assertArrayEquals(new int[] {1, 9}, Routes.merged(new int[][] {{1, 9}, {2, 3}}).get(0));
    }

    @Test
    public void whatIsCovered() {
        assertEquals(7, Routes.covered(new int[][] {{1, 4}, {2, 6}, {10, 12}}));
    }

    @Test
    public void whatWasPutIsThere() {
        Routes.Recent recent = new Routes.Recent(2);
        recent.put("a", 11);
        assertEquals(11, recent.get("a"));
    }

    @Test
    public void whatIsNotThere() {
        assertEquals(-1, new Routes.Recent(2).get("a"));
    }

    @Test
    public void oldestGoes() {
        Routes.Recent recent = new Routes.Recent(2);
        recent.put("a", 1);
        recent.put("b", 2);
        recent.put("c", 3);
        assertEquals(-1, recent.get("a"));
        assertEquals(2, recent.get("b"));
    }

    @Test
    public void usedStays() {
        Routes.Recent recent = new Routes.Recent(2);
        recent.put("a", 1);
        recent.put("b", 2);
        recent.get("a");
        recent.put("c", 3);
        assertEquals(1, recent.get("a"));
        assertEquals(-1, recent.get("b"));
    }
}
