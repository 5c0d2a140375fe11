const assert = require("assert");
const orders = require("./orders");

const TEXT = "tea,450,2\nmilk,120,3\nbread,380,1\n";

describe("orders", () => {
  it("gives a line a name", () => {
    assert.strictEqual(orders.parseLine("tea, 450, 2").name, "tea");
  });
  it("gives a line a price and a count", () => {
    const item = orders.parseLine("tea,450,2");
    assert.deepStrictEqual([item.price, item.count], [450, 2]);
  });
  it("reads all lines", () => {
    const names = orders.parseOrder(TEXT).map((item) => item.name);
    assert.deepStrictEqual(names, ["tea", "milk", "bread"]);
  });
  it("finds an item", () => {
    assert.strictEqual(orders.findItem(orders.parseOrder(TEXT), "milk").price, 120);
  });
  it("finds no unknown item", () => {
    assert.strictEqual(orders.findItem(orders.parseOrder(TEXT), "salt"), null);
  });
  it("adds every line", () => {
    assert.strictEqual(orders.subtotal(orders.parseOrder(TEXT)), 1640);
  });
  it("discounts a share", () => {
    assert.strictEqual(orders.discount(1640, 25), 410);
  });
  it("refuses a discount of more than all", () => {
    assert.throws(() => orders.discount(100, 101), RangeError);
  });
  it("discounts all", () => {
    assert.strictEqual(orders.discount(80, 100), 80);
  });
  it("asks more for weight", () => {
    assert.strictEqual(orders.shipping(4999, 7), 440);
  });
  it("sends large orders for nothing", () => {
    assert.strictEqual(orders.shipping(5000, 7), 0);
  });
  it("adds up a receipt", () => {
    assert.strictEqual(orders.receipt(orders.parseOrder(TEXT), 25, 7).due, 1670);
  });
  it("shows the discount", () => {
    assert.strictEqual(orders.receipt(orders.parseOrder(TEXT), 10, 2).less, 164);
  });
  it("knows the most expensive", () => {
    assert.strictEqual(orders.mostExpensive(orders.parseOrder(TEXT)), "tea");
  });
  it("knows the most expensive of two", () => {
    assert.strictEqual(orders.mostExpensive(orders.parseOrder("milk,120,3\nbread,380,1")), "bread");
  });
  it("puts more in stock", () => {
    assert.strictEqual(orders.restock(orders.parseOrder(TEXT), "milk", 5), 8);
  });
  it("shortens names", () => {
    assert.deepStrictEqual(orders.initials(["Ada Lovelace", "alan turing"]), ["AL", "AT"]);
  });
  it("shortens a name of one word", () => {
    assert.deepStrictEqual(orders.initials(["Plato"]), ["P"]);
  });
});
