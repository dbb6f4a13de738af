module github.com/seed79a3ff49/bloom/benchmarks/originals

go 1.24

replace github.com/seed79a3ff49/bloom => ../..

require (
	github.com/DCSO/bloom v0.2.3
	github.com/bits-and-blooms/bitset v1.24.2
	github.com/bits-and-blooms/bloom/v3 v3.7.1
	github.com/holiman/bloomfilter/v2 v2.0.3
	github.com/seed79a3ff49/bloom v1.0.0
	github.com/stretchr/testify v1.11.1
	github.com/willf/bloom v2.0.3+incompatible
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/spaolacci/murmur3 v1.1.0 // indirect
	github.com/willf/bitset v1.1.11 // indirect
	golang.org/x/sys v0.31.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
