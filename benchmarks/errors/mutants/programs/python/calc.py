def tokens(text):
    found = []
    at = 0
    while at < len(text):
        sign = text[at]
        if sign == " ":
            at = at + 1
            continue
        if sign.isdigit():
            end = at + 1
            while end < len(text) and text[end].isdigit():
                end = end + 1
            found.append(text[at:end])
            at = end
            continue
        found.append(sign)
        at = at + 1
    return found


class Parser:
    def __init__(self, text):
        self.words = tokens(text)
        self.at = 0

    def peek(self):
        if self.at < len(self.words):
            return self.words[self.at]
        return ""

    def take(self):
        word = self.words[self.at]
        self.at = self.at + 1
        return word

    def total(self):
        value = self.product()
        while self.peek() == "+" or self.peek() == "-":
            if self.take() == "+":
                value = value + self.product()
            else:
                value = value - self.product()
        return value

    def product(self):
        value = self.factor()
        while self.peek() == "*" or self.peek() == "/":
            if self.take() == "*":
                value = value * self.factor()
            else:
                value = value // self.factor()
        return value

    def factor(self):
        word = self.take()
        if word == "(":
            value = self.total()
            self.take()
            return value
        if word == "-":
            return 0 - self.factor()
        return int(word)


def evaluate(text):
    parser = Parser(text)
    value = parser.total()
    if parser.at < len(parser.words):
        raise ValueError("left over: " + parser.peek())
    return value
