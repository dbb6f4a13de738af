// Package friend names packages for which others have methods that nobody else can call.
package friend

// Growing is a parameter of what package blocked has for package growing. Its field keeps
// others from passing a struct{}{} for it.
type Growing struct{ _ struct{} }
