package main

import "math/rand"

// order is an order of look-ups. About half of the look-ups, chosen at random, ask for keys that
// were added.
type order struct {
	title string // the end of the table's title
	name  string // the order in words

	// pick returns a function that returns the number of the next key, below n.
	pick func(r *rand.Rand, n int) func() int
}

var (
	evenly = &order{
		"half of the look-ups present, in random order", "each key equally often",
		func(r *rand.Rand, n int) func() int {
			return func() int { return r.Intn(n) }
		},
	}
	skewed = &order{
		"some keys asked often", "80 % of the look-ups are of 1 % of the keys",
		func(r *rand.Rand, n int) func() int {
			return func() int {
				if r.Intn(10) < 8 {
					return r.Intn(max(1, n/100))
				}
				return r.Intn(n)
			}
		},
	}
	zipf = &order{
		"by Zipf's law", "Zipf's law with an exponent of 1.01",
		func(r *rand.Rand, n int) func() int {
			z := rand.NewZipf(r, 1.01, 1, uint64(n-1))
			return func() int { return int(z.Uint64()) }
		},
	}
)

// keys returns the keys that the look-ups ask for, in order, out of n added and n absent keys.
func (o *order) keys(k kind, n, lookups int) keys {
	r := rand.New(rand.NewSource(1))
	pick := o.pick(r, n)
	ks := keys{buf: make([]byte, lookups*k.width), width: k.width}
	for i := range lookups {
		id := uint64(pick())
		if r.Intn(2) == 0 {
			id += absentIDs
		}
		k.put(ks.buf[i*k.width:][:k.width], id)
	}
	return ks
}
