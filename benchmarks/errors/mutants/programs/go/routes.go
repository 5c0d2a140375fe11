package shop

import (
	"errors"
	"sort"
)

func Build(edges [][2]string) map[string][]string {
	graph := map[string][]string{}
	for _, edge := range edges {
		graph[edge[0]] = append(graph[edge[0]], edge[1])
		graph[edge[1]] = append(graph[edge[1]], []string{}...)
	}
	return graph
}

func Path(graph map[string][]string, start, goal string) []string {
	before := map[string]string{start: ""}
	queue := []string{start}
	for len(queue) > 0 {
		here := queue[0]
		queue = queue[1:]
		if here == goal {
			return walkBack(before, goal)
		}
		for _, there := range graph[here] {
			if _, known := before[there]; !known {
				before[there] = here
				queue = append(queue, there)
			}
		}
	}
	return nil
}

func walkBack(before map[string]string, goal string) []string {
	steps := []string{goal}
	for before[steps[0]] != "" {
		steps = append([]string{before[steps[0]]}, steps...)
	}
	return steps
}

func Distance(graph map[string][]string, start, goal string) int {
	steps := Path(graph, start, goal)
	return len(steps) - 1
}

func InOrder(graph map[string][]string) ([]string, error) {
	waiting := map[string]int{}
	for _, ends := range graph {
		for _, there := range ends {
			waiting[there] = waiting[there] + 1
		}
	}
	ready := []string{}
	for node := range graph {
		if waiting[node] == 0 {
			ready = append(ready, node)
		}
	}
	sort.Strings(ready)
	done := []string{}
	for len(ready) > 0 {
		node := ready[0]
		ready = ready[1:]
		done = append(done, node)
		for _, there := range graph[node] {
			waiting[there] = waiting[there] - 1
			if waiting[there] == 0 {
				ready = append(ready, there)
			}
		}
	}
	if len(done) < len(graph) {
		return nil, errors.New("there is a cycle")
	}
	return done, nil
}

func Merged(spans [][2]int) [][2]int {
	sort.Slice(spans, func(i, j int) bool { return spans[i][0] < spans[j][0] })
	kept := [][2]int{spans[0]}
	for _, span := range spans[1:] {
		last := len(kept) - 1
		if span[0] > kept[last][1] {
			kept = append(kept, span)
		} else if span[1] > kept[last][1] {
			kept[last][1] = span[1]
		}
	}
	return kept
}

func Covered(spans [][2]int) int {
	length := 0
	for _, span := range Merged(spans) {
		length = length + span[1] - span[0]
	}
	return length
}

type Recent struct {
	size   int
	values map[string]int
	order  []string
}

func NewRecent(size int) *Recent {
	return &Recent{size: size, values: map[string]int{}}
}

func (r *Recent) index(key string) int {
	for at, one := range r.order {
		if one == key {
			return at
		}
	}
	return -1
}

func (r *Recent) Get(key string) int {
	value, known := r.values[key]
	if !known {
		return -1
	}
	at := r.index(key)
	r.order = append(r.order[:at], r.order[at+1:]...)
	r.order = append(r.order, key)
	return value
}

func (r *Recent) Put(key string, value int) {
	if at := r.index(key); at >= 0 {
		r.order = append(r.order[:at], r.order[at+1:]...)
	}
	r.values[key] = value
	r.order = append(r.order, key)
	if len(r.order) > r.size {
		delete(r.values, r.order[0])
		r.order = r.order[1:]
	}
}
