package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/files"
	"maestro/workers/manifest"
	"maestro/workers/supervisor"
)

// writeWhole writes a file completely or not at all, readable by this user alone.
func writeWhole(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return notWritten(path, err)
	}
	if err := files.WritePath(path, content); err != nil {
		return notWritten(path, err)
	}
	return nil
}

// readFile reads a file, or with "-" stdin, up to the maximum size of a manifest.
func readFile(a *Run, file string) ([]byte, error) {
	content, err := readInput(a, file, manifest.MaxSize)
	if err != nil {
		return nil, err
	}
	if len(content) > manifest.MaxSize {
		return nil, manifestFailure(file, &manifest.InvalidError{Faults: []manifest.Fault{{Message: fmt.Sprintf(
			"the document is larger than the limit of %d bytes (16 MiB) for a manifest", manifest.MaxSize,
		)}}})
	}
	return content, nil
}

// manifestFailure lists every fault of a manifest.
func manifestFailure(file string, err error) error {
	var invalid *manifest.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	var b strings.Builder
	for _, fault := range invalid.Faults {
		b.WriteString("\n  ")
		if fault.Pointer != "" { // otherwise it is about the whole document, and says so
			b.WriteString(fault.Pointer + ": ")
		}
		b.WriteString(fault.Message)
	}
	if invalid.More > 0 {
		fmt.Fprintf(&b, "\n  and %d more", invalid.More)
	}
	details := map[string]any{"errors": invalid.Faults}
	if invalid.More > 0 {
		details["more"] = invalid.More
	}
	return &failure.Error{
		Status:  http.StatusUnprocessableEntity,
		Code:    "INVALID_MANIFEST",
		Message: "Invalid manifest: " + file + b.String(),
		Why: Many(
			len(invalid.Faults)+invalid.More,
			"fault",
		),
		Next:    "see `maestro manifest schema`",
		Details: details,
		Err:     err,
	}
}

// readManifest reads a manifest file.
func readManifest(a *Run, file string) (*manifest.Manifest, error) {
	content, err := readFile(a, file)
	if err != nil {
		return nil, err
	}
	agents, known := a.agents()
	m, err := manifest.Reader{Agents: agents, AnyAgent: !known || a.throughSocket()}.Parse(content)
	if err != nil {
		return nil, manifestFailure(file, err)
	}
	return m, nil
}

// someManifest reads the manifest of a file, or of a session from the server.
func someManifest(ctx context.Context, a *Run, file, session string) (*manifest.Manifest, error) {
	if file != "" {
		return readManifest(a, file)
	}
	id, err := sessionNamed(a, session)
	if err != nil {
		return nil, err
	}
	return manifestOf(ctx, a, id)
}

// manifestOf fetches the manifest that the server gave a session.
func manifestOf(ctx context.Context, a *Run, session string) (*manifest.Manifest, error) {
	content, err := Ask(ctx, a, (*client.Client).SessionManifest, session)
	if err != nil {
		return nil, err
	}
	m, err := manifest.ParseChecked(content)
	if err != nil {
		return nil, manifestFailure("of session "+session, err)
	}
	return m, nil
}

// agents returns the agents that this machine's home configures, besides the known ones. They are not known if the
// configuration cannot be read; whoever launches agents says what is wrong with it.
func (a *Run) agents() (names []string, known bool) {
	h := a.openHome()
	if h == nil {
		return nil, true
	}
	defer func() { _ = h.Close() }()
	configured, err := supervisor.AgentsOf(h)
	if err != nil {
		return nil, false
	}
	return configured.Names(), true
}
