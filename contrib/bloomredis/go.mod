module github.com/seed79a3ff49/bloom/contrib/bloomredis

go 1.24

require (
	github.com/redis/go-redis/v9 v9.22.0
	github.com/seed79a3ff49/bloom v1.0.0
	github.com/stretchr/testify v1.11.1
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/spaolacci/murmur3 v1.1.0 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	golang.org/x/sys v0.31.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/seed79a3ff49/bloom => ../../
