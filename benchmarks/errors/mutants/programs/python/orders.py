class Item:
    def __init__(self, name, price, count):
        self.name = name
        self.price = price
        self.count = count


def parse_line(line):
    parts = line.split(",")
    name = parts[0].strip()
    price = int(parts[1])
    count = int(parts[2])
    return Item(name, price, count)


def parse_order(text):
    lines = text.split("\n")
    return [parse_line(line) for line in lines if line != ""]


def find_item(items, name):
    for item in items:
        if item.name == name:
            return item
    return None


def line_total(item):
    return item.price * item.count


def subtotal(items):
    total = 0
    for item in items:
        total = total + line_total(item)
    return total


def discount(amount, percent):
    if percent > 100:
        raise ValueError("more than all of it: " + str(percent))
    return amount * percent // 100


def shipping(amount, weight):
    if amount >= 5000:
        return 0
    return 300 + weight * 20


def receipt(items, percent, weight):
    amount = subtotal(items)
    less = discount(amount, percent)
    sent = shipping(amount - less, weight)
    return {"amount": amount, "less": less, "sent": sent, "due": amount - less + sent}


def most_expensive(items):
    best = items[0]
    for item in items[1:]:
        if item.price > best.price:
            best = item
    return best.name


def restock(items, name, more):
    item = find_item(items, name)
    item.count = item.count + more
    return item.count
