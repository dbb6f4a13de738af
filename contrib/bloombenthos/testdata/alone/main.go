// Alone imports only package bloombenthos.
package main

import _ "github.com/seed79a3ff49/bloom/contrib/bloombenthos"

func main() {}
