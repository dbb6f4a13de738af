// Alone imports package bloombenthos and nothing else.
package main

import _ "github.com/seed79a3ff49/bloom/contrib/bloombenthos"

func main() {}
