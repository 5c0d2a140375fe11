package shop;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

public class Routes {
    public static Map<String, List<String>> build(String[][] edges) {
        Map<String, List<String>> graph = new TreeMap<>();
        for (String[] edge : edges) {
            graph.computeIfAbsent(edge[0], key -> new ArrayList<>()).add(edge[1]);
            graph.computeIfAbsent(edge[1], key -> new ArrayList<>());
        }
        return graph;
    }

    public static List<String> path(Map<String, List<String>> graph, String start, String goal) {
        Map<String, String> before = new HashMap<>();
        before.put(start, null);
        Deque<String> queue = new ArrayDeque<>();
        queue.add(start);
        while (!queue.isEmpty()) {
            String here = queue.remove();
            if (here.equals(goal)) {
                return walkBack(before, goal);
            }
            for (String there : graph.get(here)) {
                if (!before.containsKey(there)) {
                    before.put(there, here);
                    queue.add(there);
                }
            }
        }
        return null;
    }

    static List<String> walkBack(Map<String, String> before, String goal) {
        LinkedList<String> steps = new LinkedList<>();
        steps.add(goal);
        while (before.get(steps.getFirst()) != null) {
            steps.addFirst(before.get(steps.getFirst()));
            if (steps.size() > 100) {
                throw new IllegalStateException("the way has no end");
            }
        }
        return steps;
    }

    public static int distance(Map<String, List<String>> graph, String start, String goal) {
        List<String> steps = path(graph, start, goal);
        return steps.size() - 1;
    }

    public static List<String> inOrder(Map<String, List<String>> graph) {
        Map<String, Integer> waiting = new HashMap<>();
        for (String node : graph.keySet()) {
            waiting.put(node, 0);
        }
        for (List<String> ends : graph.values()) {
            for (String there : ends) {
                waiting.put(there, waiting.get(there) + 1);
            }
        }
        Deque<String> ready = new ArrayDeque<>();
        for (String node : graph.keySet()) {
            if (waiting.get(node) == 0) {
                ready.add(node);
            }
        }
        List<String> done = new ArrayList<>();
        while (!ready.isEmpty()) {
            String node = ready.remove();
            done.add(node);
            for (String there : graph.get(node)) {
                waiting.put(there, waiting.get(there) - 1);
                if (waiting.get(there) == 0) {
                    ready.add(there);
                }
            }
        }
        if (done.size() < graph.size()) {
            throw new IllegalStateException("there is a cycle");
        }
        return done;
    }

    public static List<int[]> merged(int[][] spans) {
        List<int[]> sorted = new ArrayList<>(List.of(spans));
        sorted.sort((one, other) -> one[0] - other[0]);
        List<int[]> kept = new ArrayList<>();
        kept.add(sorted.get(0));
        for (int[] span : sorted.subList(1, sorted.size())) {
            int[] last = kept.get(kept.size() - 1);
            if (span[0] <= last[1]) {
                last[1] = Math.max(last[1], span[1]);
            } else {
                kept.add(span);
            }
        }
        return kept;
    }

    public static int covered(int[][] spans) {
        int length = 0;
        for (int[] span : merged(spans)) {
            length = length + span[1] - span[0];
        }
        return length;
    }

    public static class Recent {
        private final int size;
        private final Map<String, Integer> values = new LinkedHashMap<>();

        public Recent(int size) {
            this.size = size;
        }

        public int get(String key) {
            if (!values.containsKey(key)) {
                return -1;
            }
            int value = values.remove(key);
            values.put(key, value);
            return value;
        }

        public void put(String key, int value) {
            values.remove(key);
            values.put(key, value);
            if (values.size() > size) {
                String oldest = values.keySet().iterator().next();
                values.remove(oldest);
            }
        }
    }
}
