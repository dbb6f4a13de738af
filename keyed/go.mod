module github.com/seed79a3ff49/bloom/keyed

go 1.24

require (
	github.com/dchest/siphash v1.2.3
	github.com/seed79a3ff49/bloom v1.0.0
	github.com/stretchr/testify v1.11.1
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/spaolacci/murmur3 v1.1.0 // indirect
	golang.org/x/sys v0.31.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/seed79a3ff49/bloom => ../
