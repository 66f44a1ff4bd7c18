package outbox

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var planted = flag.Bool("planted", false, "let TestPlanted check that each planted bug is caught")

// edit replaces a text that must occur exactly once in a file of the package.
type edit struct{ file, old, new string }

const (
	logic    = "outbox.go"
	entries  = "entry.go"
	delivery = "deliver.go"
)

// plants are plausible bugs, each with the promise that it breaks.
var plants = []struct {
	name, breaks string
	edits        []edit
}{
	{"an entry is removed before it is sent", "lost", []edit{{
		delivery, "	if err := send(ctx, entry); err != nil {\n",
		"	if err := o.disk.Remove(at.file()); err != nil {\n		return err\n	}\n" +
			"	if err := send(ctx, entry); err != nil {\n",
	}}},
	{
		"an entry that got no answer counts as sent", "lost",
		[]edit{{
			delivery, "	if err := send(ctx, entry); err != nil {\n		return err\n	}\n",
			"	_ = send(ctx, entry)\n",
		}},
	},
	{"entries are ordered by their names as text", "order", []edit{
		{logic, "	numberDigits = 12\n", "	numberDigits = 1\n"},
		{
			logic, "cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.digest, b.digest))",
			"cmp.Or(strings.Compare(a.file(), b.file()), cmp.Compare(0, 0))",
		},
	}},
	{
		"entries are delivered in the directory's order",
		"order",
		[]edit{
			{
				logic,
				"cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.digest, b.digest))",
				"cmp.Compare(0*len(a.digest), strings.Compare(\"\", \"\"))",
			},
		},
	},
	{
		"the next number is the number of waiting entries",
		"order",
		[]edit{
			{logic, "next.number = positions[len(positions)-1].number + 1", "next.number = uint64(len(positions)) + 1"},
		},
	},
	{
		"the next number repeats the last one",
		"order",
		[]edit{
			{
				logic,
				"next.number = positions[len(positions)-1].number + 1",
				"next.number = positions[len(positions)-1].number",
			},
		},
	},
	{
		"the next entry is delivered although one before it has to wait",
		"order",
		[]edit{
			{
				delivery,
				"			case !errors.Is(err, errMissing):\n",
				"			case !errors.Is(err, errMissing):\n" +
					"				if i < len(positions)-1 {\n					err = nil\n				}\n",
			},
		},
	},
	{
		"a written file is not synced",
		"called damaged",
		[]edit{{logic, "errors.Join(f.Sync(), f.Close())", "f.Close()"}},
	},
	{
		"the directory is not synced",
		"lost",
		[]edit{
			{
				logic,
				"	if err := o.disk.Sync(); err != nil {\n		return errors.Join(err, o",
				"	if err := error(nil); err != nil {\n		return errors.Join(err, o",
			},
		},
	},
	{"an entry is written directly under its final name", "called damaged", []edit{
		{
			logic,
			"	err := o.write(content)\n	if err == nil {\n		err = o.disk.Rename(writtenFile, file)\n	}\n",
			"	err := o.write(file, content)\n",
		},
		{
			logic, "func (o *Outbox) write(content []byte) error {\n	f, err := o.disk.Create(writtenFile)\n",
			"func (o *Outbox) write(file string, content []byte) error {\n	f, err := o.disk.Create(file)\n",
		},
	}},
	{
		"an entry that could not be made durable is kept",
		"not kept, and was done",
		[]edit{{logic, "return errors.Join(err, o.disk.Remove(file))", "return err"}},
	},
	{
		"an entry that is about to be withdrawn is delivered",
		"not kept, and was done",
		[]edit{{delivery, "positions, strays, err := o.settled(ctx, patience)", "positions, strays, err := o.list()"}},
	},
	{
		"the checksum is not compared",
		"called forged",
		[]edit{{entries, "if digestOf(content) != at.digest {", "if digestOf(content) == \"\" {"}},
	},
	{
		"a damaged entry holds up the others",
		"waits for ever",
		[]edit{
			{
				delivery,
				"	case errors.As(err, &damage):\n",
				"	case errors.As(err, &damage):\n		if d != nil {\n			return err\n		}\n",
			},
		},
	},
	{
		"a damaged entry is deleted",
		"lost",
		[]edit{{delivery, "o.disk.SetAside(at.file(), to)", "at.file(), o.disk.Remove(at.file())"}},
	},
	{
		"damage is not reported",
		"nobody was told",
		[]edit{{
			delivery,
			"		aside := Damaged{File: to + \"/\" + moved, Why: damage.why, Replaced: to == replacedDir}\n" +
				"		d.Damaged = append(d.Damaged, aside)",
			"		_ = moved",
		}},
	},
	{
		"two processes may deliver at once",
		"two deliver",
		[]edit{{delivery, "unlock, err := o.lock(ctx, patience, deliverLock)", "unlock, err := func() {}, error(nil)"}},
	},
	{
		"two processes may keep entries at once",
		"called damaged",
		[]edit{
			{
				logic,
				"		return 0, err\n	}\n	unlock, err := o.disk.Lock(ctx, keepingLock)",
				"		return 0, err\n	}\n	unlock, err := func() {}, error(nil)",
			},
		},
	},
	{
		"an entry is delivered without its proof",
		"without proof",
		[]edit{{entries, "	case !e.proven(secret):\n", "	case e.Proof == \"\":\n"}},
	},
	{
		"a proof made with an empty secret is accepted",
		"without proof",
		[]edit{
			{
				entries,
				"secret != \"\" && hmac.Equal([]byte(e.Proof), []byte(e.prove(secret)))",
				"hmac.Equal([]byte(e.Proof), []byte(e.prove(secret))) || hmac.Equal([]byte(e.Proof), " +
					"[]byte(e.prove(\"\")))",
			},
		},
	},
	{
		"the proof leaves out the key",
		"changed",
		[]edit{
			{
				entries,
				"[]string{e.Command, string(e.Body), e.Key, e.OccurredAt",
				"[]string{e.Command, string(e.Body), e.OccurredAt",
			},
		},
	},
	{
		"any command may wait",
		"may not wait",
		[]edit{
			{
				entries,
				"	case !commands.MayWait(e.Command):\n",
				"	case !commands.MayWait(e.Command) && e.Command == \"\":\n",
			},
		},
	},
	{
		"a forged entry is not reported",
		"nobody was told",
		[]edit{
			{
				delivery,
				"	case errors.As(err, &damage):\n",
				"	case errors.As(err, &damage) && entry.Command != \"\":\n" +
					"		_, err := o.disk.SetAside(at.file(), damagedDir)\n		return err\n" +
					"	case errors.As(err, &damage):\n",
			},
		},
	},
	{
		"an entry's own word on its secret is believed",
		"and is forged",
		[]edit{{delivery, "			if former {\n", "			if former || entry.saysFormer(secret) {\n"}},
	},
	{
		"the entry's number is used as its key",
		"changed",
		[]edit{
			{
				delivery,
				"	if err := send(ctx, entry); err != nil {\n",
				"	entry.Key = fmt.Sprint(at.number)\n" +
					"	entry.Proof = entry.prove(o.secret())\n" +
					"	if err := send(ctx, entry); err != nil {\n",
			},
		},
	},
}

// TestPlanted shows that the model finds bugs: it plants one bug after another through a build overlay, never in the
// tree, and runs histories until a promise breaks.
func TestPlanted(t *testing.T) {
	if !*planted {
		t.Log("skipped: run it with -planted")
		return
	}
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			binary := build(t, altered(t, p.edits))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, binary, "-test.run", "^TestModel$", "-seeds", "20000").CombinedOutput()
			found := regexp.MustCompile(`seed (\d+) breaks a promise: .*`).FindString(string(out))
			t.Log(found)
			if err == nil || !strings.Contains(found, p.breaks) || found == "" {
				t.Errorf("it was not caught as %q: %v\n%s", p.breaks, err, out)
			}
		})
	}
}

// TestPlantsHaveTheirPlace checks that each bug can still be planted.
func TestPlantsHaveTheirPlace(t *testing.T) {
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) { altered(t, p.edits) })
	}
}

// altered returns the files that a bug changes, with the bug.
func altered(t *testing.T, edits []edit) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, e := range edits {
		text, ok := files[e.file]
		if !ok {
			content, err := os.ReadFile(e.file)
			if err != nil {
				t.Fatal(err)
			}
			text = string(content)
		}
		if n := strings.Count(text, e.old); n != 1 {
			t.Fatalf("the text to replace occurs %d times in %s, not once:\n%s", n, e.file, e.old)
		}
		files[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	return files
}

// build compiles this package's tests with a bug in it.
func build(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		overlay.Replace[path] = filepath.Join(dir, file)
		if err := os.WriteFile(overlay.Replace[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	content, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "outbox.test")
	if err := os.WriteFile(list, content, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", list, "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}
