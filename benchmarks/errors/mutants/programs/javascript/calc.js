function tokens(text) {
  const found = [];
  let at = 0;
  while (at < text.length) {
    const sign = text[at];
    if (sign === " ") {
      at = at + 1;
      continue;
    }
    if (sign >= "0" && sign <= "9") {
      let end = at + 1;
      while (end < text.length && text[end] >= "0" && text[end] <= "9") {
        end = end + 1;
      }
      found.push(text.slice(at, end));
      at = end;
      continue;
    }
    found.push(sign);
    at = at + 1;
  }
  return found;
}

class Parser {
  constructor(text) {
    this.words = tokens(text);
    this.at = 0;
  }

  peek() {
    return this.words[this.at];
  }

  take() {
    const word = this.words[this.at];
    if (word === undefined) {
      throw new SyntaxError("the end came too early");
    }
    this.at = this.at + 1;
    return word;
  }

  total() {
    let value = this.product();
    while (this.peek() === "+" || this.peek() === "-") {
      if (this.take() === "+") {
        value = value + this.product();
      } else {
        value = value - this.product();
      }
    }
    return value;
  }

  product() {
    let value = this.factor();
    while (this.peek() === "*" || this.peek() === "/") {
      if (this.take() === "*") {
        value = value * this.factor();
      } else {
        value = Math.floor(value / this.factor());
      }
    }
    return value;
  }

  factor() {
    const word = this.take();
    if (word === "(") {
      const value = this.total();
      this.take();
      return value;
    }
    if (word === "-") {
      return 0 - this.factor();
    }
    if (!/^[0-9]+$/.test(word)) {
      throw new SyntaxError("no number: " + word);
    }
    return Number(word);
  }
}

function evaluate(text) {
  const parser = new Parser(text);
  const value = parser.total();
  if (parser.at < parser.words.length) {
    throw new SyntaxError("left over: " + parser.peek());
  }
  return value;
}

module.exports = { tokens, evaluate };
