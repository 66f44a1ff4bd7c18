package bus

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"maestro/events"
)

// archiveOf is the archive of a backup of an empty log. Its only text, if there is one, has a header alone.
func archiveOf(t *testing.T, text string, size int64) string {
	t.Helper()
	var plain bytes.Buffer
	archive := tar.NewWriter(&plain)
	entry := func(name string, size int64) {
		header := &tar.Header{
			Typeflag: tar.TypeReg,
			Name:     name,
			Size:     size,
			Mode:     0o600,
		}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
	}
	manifest := `{"format":1,"head":{"sequence":0,"hash":"` + events.Hash{}.String() + `"}}`
	entry(backupManifestName, int64(len(manifest)))
	if _, err := archive.Write([]byte(manifest)); err != nil {
		t.Fatal(err)
	}
	entry(backupLogName, 0)
	if text != "" {
		entry(backupBlobPrefix+text, size)
	}
	_ = archive.Close() // the text is missing
	return plain.String()
}

func packed(t *testing.T, content string) string {
	t.Helper()
	var file bytes.Buffer
	compressed := gzip.NewWriter(&file)
	if _, err := compressed.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// A text in a backup that is larger than any text is refused by its header, before anything of it is unpacked.
func TestBackupWithAnImpossibleText(t *testing.T) {
	for _, size := range []int64{0, maxBlob, maxBlob + 1, 1 << 40} {
		file := packed(t, archiveOf(t, Digest(nil), size))
		_, err := ReadBackup(strings.NewReader(file), BackupVisitor{})
		tooLarge := err != nil && strings.Contains(err.Error(), "more than any long text")
		if tooLarge != (size > maxBlob) || (err == nil) != (size == 0) {
			t.Errorf("a text of %d bytes: %v", size, err)
		}
	}
}

// Whatever follows a backup in its file is refused: nobody checks it.
func TestBackupWithSomethingBehindIt(t *testing.T) {
	good := archiveOf(t, "", 0)
	for file, whole := range map[string]bool{
		packed(t, good): true,
		packed(t, good+strings.Repeat("\x00", 10<<10)): true,
		packed(t, good+"more"):                         false,
		packed(t, good) + packed(t, good):              false,
		packed(t, good) + packed(t, ""):                false,
		packed(t, good) + "more":                       false,
	} {
		if _, err := ReadBackup(strings.NewReader(file), BackupVisitor{}); (err == nil) != whole {
			t.Errorf("%d bytes: %v", len(file), err)
		}
	}
}
