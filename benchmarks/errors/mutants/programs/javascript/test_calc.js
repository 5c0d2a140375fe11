const assert = require("assert");
const { evaluate, tokens } = require("./calc");

describe("calc", () => {
  it("reads words", () => {
    assert.deepStrictEqual(tokens("12 + 3*(4-56)"), ["12", "+", "3", "*", "(", "4", "-", "56", ")"]);
  });
  it("reads a number", () => {
    assert.strictEqual(evaluate("42"), 42);
  });
  it("adds", () => {
    assert.strictEqual(evaluate("1 + 20 + 300"), 321);
  });
  it("takes away", () => {
    assert.strictEqual(evaluate("100 - 30 - 7"), 63);
  });
  it("multiplies before it adds", () => {
    assert.strictEqual(evaluate("2 + 3 * 4"), 14);
  });
  it("divides", () => {
    assert.strictEqual(evaluate("90 / 4 / 2"), 11);
  });
  it("knows brackets", () => {
    assert.strictEqual(evaluate("(2 + 3) * (4 + 5)"), 45);
  });
  it("knows brackets in brackets", () => {
    assert.strictEqual(evaluate("2 * (3 + (4 - 1) * 5)"), 36);
  });
  it("knows negative numbers", () => {
    assert.strictEqual(evaluate("7 * -3"), -21);
  });
  it("refuses what is left over", () => {
    assert.throws(() => evaluate("1 2"), SyntaxError);
  });
});
