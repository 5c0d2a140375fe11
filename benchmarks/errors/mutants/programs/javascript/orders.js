class Item {
  constructor(name, price, count) {
    this.name = name;
    this.price = price;
    this.count = count;
  }
}

function parseLine(line) {
  const parts = line.split(",");
  const name = parts[0].trim();
  const price = Number(parts[1]);
  const count = Number(parts[2]);
  return new Item(name, price, count);
}

function parseOrder(text) {
  const lines = text.split("\n");
  return lines.filter((line) => line !== "").map(parseLine);
}

function findItem(items, name) {
  for (const item of items) {
    if (item.name === name) {
      return item;
    }
  }
  return null;
}

function lineTotal(item) {
  return item.price * item.count;
}

function subtotal(items) {
  let total = 0;
  for (const item of items) {
    total = total + lineTotal(item);
  }
  return total;
}

function discount(amount, percent) {
  if (percent > 100) {
    throw new RangeError("more than all of it: " + percent);
  }
  return Math.floor((amount * percent) / 100);
}

function shipping(amount, weight) {
  if (amount >= 5000) {
    return 0;
  }
  return 300 + weight * 20;
}

function receipt(items, percent, weight) {
  const amount = subtotal(items);
  const less = discount(amount, percent);
  const sent = shipping(amount - less, weight);
  return { amount, less, sent, due: amount - less + sent };
}

function mostExpensive(items) {
  let best = items[0];
  for (const item of items.slice(1)) {
    if (item.price > best.price) {
      best = item;
    }
  }
  return best.name;
}

function restock(items, name, more) {
  const item = findItem(items, name);
  item.count = item.count + more;
  return item.count;
}

function initials(names) {
  const found = [];
  for (const name of names) {
    const words = name.split(" ");
    found.push(words.map((word) => word[0].toUpperCase()).join(""));
  }
  return found;
}

module.exports = { parseLine, parseOrder, findItem, subtotal, discount, shipping, receipt, mostExpensive, restock, initials };
