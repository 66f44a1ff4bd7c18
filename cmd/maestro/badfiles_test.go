package main

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

	"maestro/internal/cli"
)

// repacked returns a backup in which one entry has other content.
func repacked(t *testing.T, backup []byte, name string, edit func(content []byte) []byte) []byte {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(backup))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	outer := gzip.NewWriter(&out)
	from, to := tar.NewReader(packed), tar.NewWriter(outer)
	for {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		var content []byte
		if err == nil {
			content, err = io.ReadAll(from)
		}
		if header.Name == name {
			content = edit(content)
		}
		header.Size = int64(len(content))
		if err = errors.Join(err, to.WriteHeader(header)); err == nil {
			_, err = to.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(to.Close(), outer.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// libraryWords are words of libraries' error messages about bad input.
var libraryWords = regexp.MustCompile(`bufio|token too long|json: (cannot|unknown|invalid)|invalid character|` +
	`unexpected end of JSON|Go (value|struct)|gzip: |flate: |archive/tar|tar: |illegal base64|encoding/|unexpected ` +
	`EOF|\bEOF\b|strconv|parsing |yaml: |s2: |snappy`)

// Whatever is wrong with a file, a command says in its own words what is wrong, why, and what to do next.
func TestBadFilesAreNamedInPlainWords(t *testing.T) {
	s := &inside{t: t, home: filepath.Join(t.TempDir(), "home")}
	s.start()
	s.do("project:create", map[string]any{"name": "P"})
	dir := t.TempDir()
	here := map[string]string{"MAESTRO_HOME": s.home}
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, args := range [][]string{{"backup", file("good.tar.gz")}, {"audit", "export", file("good.ndjson")}} {
		if got := runHere(t, here, args...); got.code != cli.ExitDone {
			t.Fatalf("%v: %+v", args, got)
		}
	}
	s.stop()
	backup, err := os.ReadFile(file("good.tar.gz"))
	exported, exportErr := os.ReadFile(file("good.ndjson"))
	if err := errors.Join(err, exportErr); err != nil {
		t.Fatal(err)
	}
	with := func(entry, content string) []byte {
		return repacked(t, backup, entry, func([]byte) []byte { return []byte(content) })
	}
	behind := func(line string) []byte {
		return repacked(t, backup, "log.ndjson", func(log []byte) []byte { return append(log, line...) })
	}
	flipped := func(at int) []byte {
		b := bytes.Clone(backup)
		b[(at+len(b))%len(b)] ^= 0x55
		return b
	}
	var unpacked bytes.Buffer
	if r, err := gzip.NewReader(bytes.NewReader(backup)); err != nil {
		t.Fatal(err)
	} else if _, err := unpacked.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	if _, err := w.Write([]byte("this is no archive")); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	lineOf := func(body string) []byte {
		return []byte(`{"sequence":1,"hash":"` + strings.Repeat("0", 64) + `","subject":"a",` + body + "}\n")
	}
	for name, content := range map[string][]byte{
		"an over-long line in a backup":   behind(strings.Repeat("x", 40<<20) + "\n"),
		"no JSON in a backup":             behind(`{"sequence":}` + "\n"),
		"a cut line in a backup":          behind(`{"sequence":2,`),
		"a wrong type in a backup":        behind(`{"sequence":"2"}` + "\n"),
		"a list in a backup":              behind("[1]\n"),
		"a manifest that is no JSON":      with("backup.json", "{nope"),
		"a manifest of a wrong type":      with("backup.json", `{"format":"x"}`),
		"an empty manifest":               with("backup.json", ""),
		"a signature that is no JSON":     with("signature.json", "{nope"),
		"a signature of a wrong type":     with("signature.json", `{"key":5}`),
		"half a backup":                   backup[:len(backup)/2],
		"five bytes of a backup":          backup[:5],
		"a backup without its last bytes": backup[:len(backup)-3],
		"a flipped bit in a backup":       flipped(len(backup) / 2),
		"a flipped bit at a backup's end": flipped(-6),
		"a flipped bit at its beginning":  flipped(3),
		"an archive without compression":  unpacked.Bytes(),
		"a compressed text":               text.Bytes(),
		"an over-long line in an export":  append(bytes.Clone(exported), strings.Repeat("x", 40<<20)...),
		"no JSON in an export":            append(bytes.Clone(exported), "{\"sequence\":}\n"...),
		"a cut export":                    exported[:len(exported)-20],
		"a wrong type in an export":       []byte(`{"sequence":"x"}` + "\n"),
		"a negative number in an export":  []byte(`{"sequence":-1}` + "\n"),
		"an unknown field in an export":   []byte(`{"sequence":1,"foo":1}` + "\n"),
		"a bad raw body in an export":     lineOf(`"raw":"!!"`),
		"a body that is no event":         lineOf(`"event":{"a":1}`),
		"an event of wrong types": bytes.Replace(exported, []byte(`"data":{`),
			[]byte(`"data":{"projectId":[],`), 1),
		"zeros": make([]byte, 4096),
	} {
		if err := os.WriteFile(file("bad"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"audit", "verify", file("bad")},
			{"audit", "verify", "--oracle", file("bad")},
			{"audit", "replay", file("bad")},
			{"restore", file("bad"), "--home", file("restored")},
			{"salvage", "--home", s.home, "--new-home", file("salvaged"), "--with", file("bad")},
			{"task", "import", file("bad")},
			{"manifest", "validate", file("bad")},
		} {
			got := runHere(t, here, args...)
			if words := libraryWords.FindString(got.stdout + got.stderr); words != "" {
				t.Errorf("%s, %s: %q is shown:\n%s%s", name, args[0], words, got.stdout, got.stderr)
			}
			for _, part := range []string{"maestro: ", "\n  why:  ", "\n  next: "} {
				if got.code != cli.ExitDone && !strings.Contains("\n"+got.stderr, part) {
					t.Errorf("%s, %s: no %q:\n%s", name, args, part, got.stderr)
				}
			}
			if err := errors.Join(os.RemoveAll(file("restored")), os.RemoveAll(file("salvaged"))); err != nil {
				t.Fatal(err)
			}
		}
	}
}
