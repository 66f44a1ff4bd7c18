package offline

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"testing"

	"maestro/bus"
	"maestro/internal/failure"
)

// archiveOf returns a backup that ends after its manifest.
func archiveOf(t *testing.T, manifest string) []byte {
	t.Helper()
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	entries := tar.NewWriter(packed)
	header := &tar.Header{Name: "backup.json", Mode: 0o600, Size: int64(len(manifest))}
	begun := entries.WriteHeader(header)
	_, err := entries.Write([]byte(manifest))
	if err := errors.Join(begun, err, entries.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// A backup of an invalid format is damaged; the error about a newer format says what to do. Both are errors of the
// file.
func TestBackupsOfOtherFormats(t *testing.T) {
	for manifest, want := range map[string]string{
		`{"format":3000}`: "use the version of maestro that made it",
		`{"format":0}`:    "use another backup or export",
		`null`:            "use another backup or export",
	} {
		_, err := bus.ReadBackup(bytes.NewReader(archiveOf(t, manifest)), bus.BackupVisitor{})
		var backup *bus.BackupError
		if !errors.As(err, &backup) || backup.Foreign {
			t.Errorf("%s: %v", manifest, err)
		}
		var told *failure.Error
		if !errors.As(notWhole("b.tgz", err), &told) || !strings.Contains(fmt.Sprint(told.Next), want) ||
			!strings.Contains(told.Message, "b.tgz") {
			t.Errorf("%s: %+v", manifest, told)
		}
	}
}
