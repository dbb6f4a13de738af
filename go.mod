module github.com/seed79a3ff49/bloom

go 1.24

require (
	github.com/spaolacci/murmur3 v1.1.0
	github.com/stretchr/testify v1.11.1
	golang.org/x/sys v0.31.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
