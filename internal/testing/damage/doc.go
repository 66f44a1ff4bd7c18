// Package damage damages copies of a real home at random and checks the server against docs/operations.md: each fault
// is noticed or proven harmless, nothing that could be read before is lost, and each fault has a remedy. It contains
// tests only.
package damage
