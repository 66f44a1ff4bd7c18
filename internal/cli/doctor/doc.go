// Package doctor is `maestro doctor`: it looks at a server, and at its home if that is on this machine, and says what
// is wrong, why that matters, and what to do. It changes nothing. Each subject has a file with its checks; doctor.go
// lists them, and [Kinds] what they can find.
package doctor
