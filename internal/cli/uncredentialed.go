package cli

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/service/wire"
)

// uncredentialed says of a call that had no valid credential where the credential came from, or why there was none. It
// returns other errors, and that of a credential in the environment, unchanged.
func (a *Run) uncredentialed(err error) error {
	var said *client.Error
	if !errors.As(err, &said) || said.Status != http.StatusUnauthorized || a.Getenv(wire.EnvToken) != "" ||
		said.Next != wire.UnauthenticatedNext && !said.Unproven {
		return err
	}
	path, pathErr := home.Path(a.Getenv)
	if pathErr != nil {
		return err
	}
	file := filepath.Join(path, "admin.token")
	f := &failure.Error{
		Status:  said.Status,
		Code:    said.Code,
		Message: said.Message,
		Why:     "MAESTRO_TOKEN is not set, and there is no " + file,
		Next:    "set MAESTRO_TOKEN to a token of that server",
	}
	if a.homeToken {
		f.Why = said.Why + "; it is that of " + file + ", because MAESTRO_TOKEN is not set"
	}
	address := strings.TrimRight(a.Getenv(wire.EnvAPIURL), "/")
	if own := a.homeServer(); own != "" && (address == "" || address == own) {
		f.Next = "restart the home's server: its next start creates the file anew if it is missing, and accepts the " +
			"token in it; or put the old file back"
	}
	return f
}

// Explain puts an error of this run into words, as the package's Explain does.
func (a *Run) Explain(err error) (what, why, next string) { return Explain(a.uncredentialed(err)) }
