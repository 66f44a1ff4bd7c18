package salvage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"maestro/bus"
)

// TestSalvageWithoutTheKey: the automatic backups of a home that has lost its key are used only if the user names their
// signer.
func TestSalvageWithoutTheKey(t *testing.T) {
	original := sharedLong(t)
	for _, c := range []struct {
		name   string
		signer string
		whole  bool
		note   string
	}{
		{"no signer", "", false, "add --signer " + original.signer},
		{"the signer", original.signer, true, ""},
		{"another signer", "ed25519:" + strings.Repeat("0", 64), false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := original.copied(t)
			flip(t, l.blocks(t, bus.StreamName)[1], middle)
			if err := os.Remove(filepath.Join(l.dir, "server.key")); err != nil {
				t.Fatal(err)
			}
			backup := l.files["whole.tar.gz"]
			report := l.salvage(t, func(o *Options) { o.Signer, o.Backups = c.signer, []string{backup} })
			if report.Key == "" || report.Whole() {
				t.Errorf("the report does not say that the key is lost: %s", report.Lost())
			}
			if report.Key = ""; report.Whole() != c.whole { // everything else
				t.Errorf("whole is %t: %s", report.Whole(), report.Lost())
			}
			if _, unused := report.Unused[backup]; unused == c.whole {
				t.Errorf("unused: %v", report.Unused)
			}
			if notes := strings.Join(report.Notes, "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("the notes lack %q: %s", c.note, notes)
			}
		})
	}
}

// TestUnsignedBackupsOfAHomeWithoutAKey: a backup without a signature is used only when the user names it.
func TestUnsignedBackupsOfAHomeWithoutAKey(t *testing.T) {
	original := sharedLong(t)
	unsigned := filepath.Join(t.TempDir(), "unsigned.tar.gz")
	withoutSeal(t, original.files["whole.tar.gz"], unsigned)
	for _, named := range []bool{false, true} {
		l := original.copied(t)
		flip(t, l.blocks(t, bus.StreamName)[1], middle)
		report := l.salvage(t, func(o *Options) {
			o.Signer = ""
			if named {
				o.With = []string{unsigned}
			} else {
				o.Backups = []string{unsigned}
			}
		})
		if report.Whole() != named {
			t.Errorf("named %t: whole is %t, unused %v", named, report.Whole(), report.Unused)
		}
	}
}

// withoutSeal copies a backup in the form of an earlier version, without its last entry.
func withoutSeal(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	in, out := tar.NewReader(unpacked), tar.NewWriter(packed)
	for {
		entry, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry.Name == "signature.json" {
			continue
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if entry.Name == "backup.json" { // it contains the format
			content = regexp.MustCompile(`"format": ?2`).ReplaceAll(content, []byte(`"format":1`))
			entry.Size = int64(len(content))
		}
		if err := out.WriteHeader(entry); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), packed.Close(), os.WriteFile(to, archive.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}
