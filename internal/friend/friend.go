// Package friend names packages for which others have methods that nobody else can call.
package friend

// Growing is a parameter of what package blocked has for package growing.
type Growing struct{}
