package failure_test

import (
	"testing"

	"maestro/api"
	"maestro/commands"
	"maestro/internal/failure"
)

// The program's own failures end with the exit code of a server's refusal for the same reason.
func TestCodesAreThoseOfRefusals(t *testing.T) {
	for own, served := range map[string]commands.Code{
		failure.Conflict:   commands.CodeConflict,
		failure.NotAllowed: commands.CodeNotAllowed,
		failure.NotFound:   commands.CodeNotFound,
	} {
		if own != string(served) {
			t.Errorf("the program says %s where the server says %s", own, served)
		}
		if got, want := (&failure.Error{Code: own}).HTTPStatus(), api.StatusOf(served); got != want {
			t.Errorf("%s has the HTTP status %d, the server's refusal %d", own, got, want)
		}
	}
}
