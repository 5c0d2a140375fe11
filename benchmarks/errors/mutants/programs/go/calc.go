package shop

import (
	"fmt"
	"strconv"
)

func Tokens(text string) []string {
	found := []string{}
	at := 0
	for at < len(text) {
		if text[at] == ' ' {
			at = at + 1
			continue
		}
		end := at + 1
		if isDigit(text[at]) {
			for end < len(text) && isDigit(text[end]) {
				end = end + 1
			}
		}
		found = append(found, text[at:end])
		at = end
	}
	return found
}

func isDigit(sign byte) bool {
	return sign >= '0' && sign <= '9'
}

type Parser struct {
	words []string
	at    int
}

func (p *Parser) peek() string {
	if p.at < len(p.words) {
		return p.words[p.at]
	}
	return ""
}

func (p *Parser) take() string {
	word := p.words[p.at]
	p.at = p.at + 1
	return word
}

func (p *Parser) total() int {
	value := p.product()
	for p.peek() == "+" || p.peek() == "-" {
		if p.take() == "+" {
			value = value + p.product()
		} else {
			value = value - p.product()
		}
	}
	return value
}

func (p *Parser) product() int {
	value := p.factor()
	for p.peek() == "*" || p.peek() == "/" {
		if p.take() == "*" {
			value = value * p.factor()
		} else {
			value = value / p.factor()
		}
	}
	return value
}

func (p *Parser) factor() int {
	word := p.take()
	if word == "(" {
		value := p.total()
		p.take()
		return value
	}
	if word == "-" {
		return 0 - p.factor()
	}
	value, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return value
}

func Evaluate(text string) (int, error) {
	parser := &Parser{words: Tokens(text)}
	value := parser.total()
	if parser.at < len(parser.words) {
		return 0, fmt.Errorf("left over: %s", parser.peek())
	}
	return value, nil
}
