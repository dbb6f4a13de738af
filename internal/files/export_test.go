package files

// What tests in another package use: package filtertest, which they need, imports this one.

const Cleaned = cleaned

func Temporary(path string, i int) string { return temporary(prefix(path), i) }
