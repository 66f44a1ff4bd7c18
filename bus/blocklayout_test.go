package bus

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maestro/events"
	"maestro/internal/testing/race"
)

// TestServerGetsNoStreamItWouldClear: files that make nats-server delete or replace messages when it opens a
// stream are found before it does. The log then opens read-only, other streams are recreated, and nothing is lost.
func TestServerGetsNoStreamItWouldClear(t *testing.T) {
	race.Without(t)
	dir, log, blobs, denials := filledStore(t)
	copied := func(from, to string) error {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, content, 0o600))
	}
	for name, c := range map[string]struct {
		harm func(stream string) error
		// harmless: nats-server may open the stream with it.
		harmless bool
	}{
		"new messages": {harm: func(s string) error {
			return copied(filepath.Join(s, "msgs", "1.blk"), filepath.Join(s, newMessagesName, "1.blk"))
		}},
		"new messages without a block": {harm: func(s string) error {
			return errors.Join(os.Mkdir(filepath.Join(s, newMessagesName), 0o700),
				os.WriteFile(filepath.Join(s, newMessagesName, "1.key"), nil, 0o600))
		}},
		"new messages that are a file": {harm: func(s string) error {
			return os.WriteFile(filepath.Join(s, newMessagesName), nil, 0o600)
		}},
		"old messages": {harm: func(s string) error {
			return copied(filepath.Join(s, "msgs", "1.blk"), filepath.Join(s, oldMessagesName, "1.blk"))
		}},
		"empty directories of a purge": {harmless: true, harm: func(s string) error {
			return errors.Join(os.Mkdir(filepath.Join(s, oldMessagesName), 0o700),
				os.Mkdir(filepath.Join(s, newMessagesName), 0o700))
		}},
		"a block twice": {harm: func(s string) error {
			return copied(filepath.Join(s, "msgs", "1.blk"), filepath.Join(s, "msgs", "1.blk.blk"))
		}},
		"a block under a long number": {harm: func(s string) error {
			return copied(filepath.Join(s, "msgs", "1.blk"), filepath.Join(s, "msgs", "001.blk"))
		}},
		"an index of an older server": {harm: func(s string) error {
			return os.WriteFile(filepath.Join(s, "msgs", "1.idx"), nil, 0o600)
		}},
		"an index that is a directory": {harmless: true, harm: func(s string) error {
			return errors.Join(ignoreMissing(os.Remove(filepath.Join(s, "msgs", indexName))),
				os.MkdirAll(filepath.Join(s, "msgs", indexName, "x"), 0o700))
		}},
		"a configuration that is a directory": {harmless: true, harm: func(s string) error {
			meta := filepath.Join(s, metaName)
			return errors.Join(os.Remove(meta), os.MkdirAll(filepath.Join(meta, "x"), 0o700))
		}},
		"a key": {harm: func(s string) error {
			return os.WriteFile(filepath.Join(s, keyName), []byte("key"), 0o600)
		}},
		"a renamed block": {harm: func(s string) error {
			return os.Rename(filepath.Join(s, "msgs", "1.blk"), filepath.Join(s, "msgs", "9.blk"))
		}},
	} {
		for _, stream := range []string{StreamName, BlobStream, DeniedStream} {
			t.Run(name+" in "+stream, func(t *testing.T) {
				image := storeCopy(t, dir)
				must(t, c.harm(streamPath(image, stream)))
				b, err := Open(t.Context(), Options{Dir: image, Witnessed: uint64(len(log)), Logger: testLogger(t)})
				must(t, err)
				defer func() { must(t, b.Close()) }()
				if readOnly := b.Damage() != nil; readOnly == (c.harmless || stream != StreamName) {
					t.Errorf("damage: %v", b.Damage())
				}
				var damage *events.DamageError
				if errors.As(b.Damage(), &damage) && damage.Sequence != uint64(len(log))+1 {
					t.Errorf("the damage is at %d, although every event can be read", damage.Sequence)
				}
				sameMessages(t, allOf(t, b), log)
				if got, err := b.Blobs(t.Context()); err != nil || len(got) != len(blobs) {
					t.Errorf("%d blobs, expected %d, %v", len(got), len(blobs), err)
				}
				if got := denialsOf(t, b.LoadDenials); !sameDenials(got, denials) {
					t.Errorf("%d refusals, expected %d", len(got), len(denials))
				}
			})
		}
	}
}

// TestServerDeletesNoHiddenStream: nats-server would delete directories beside the streams whose names begin with a
// dot.
func TestServerDeletesNoHiddenStream(t *testing.T) {
	dir, log, _, _ := filledStore(t)
	image := storeCopy(t, dir)
	hidden := streamPath(image, "."+StreamName)
	must(t, os.Rename(streamPath(image, StreamName), hidden))
	b, err := Open(t.Context(), Options{Dir: image, Logger: testLogger(t)})
	must(t, err)
	if b.Damage() == nil || !strings.Contains(b.Damage().Error(), "."+StreamName) {
		t.Errorf("damage: %v", b.Damage())
	}
	must(t, b.Close(), os.Rename(hidden, streamPath(image, StreamName)))
	sameMessages(t, readable(t, image), log)
}

// TestDeletingConfigurationIsRewritten: a stream's configuration with a valid checksum can still make nats-server
// delete messages.
func TestDeletingConfigurationIsRewritten(t *testing.T) {
	race.Without(t)
	dir, log, blobs, denials := filledStore(t)
	for _, c := range []struct{ stream, old, new string }{
		{StreamName, `"max_msgs":-1`, `"max_msgs":1`},
		{StreamName, `"max_age":0`, `"max_age":1`},
		{StreamName, `"max_msgs_per_subject":-1`, `"max_msgs_per_subject":1`},
		{StreamName, `"retention":"limits"`, `"retention":"interest"`},
		{StreamName, `"max_msgs":-1`, `"first_seq":1000,"max_msgs":-1`},
		{StreamName, `"max_msgs":-1`, `"unknown":true,"max_msgs":-1`},
		{StreamName, `"compression":"none"`, `"compression":"s2"`},
		{BlobStream, `"max_age":0`, `"max_age":1`},
		{DeniedStream, `"max_age":0`, `"max_age":1`},
	} {
		t.Run(c.stream+" "+c.new, func(t *testing.T) {
			image := storeCopy(t, dir)
			path := filepath.Join(streamPath(image, c.stream), metaName)
			content, err := os.ReadFile(path)
			must(t, err)
			if strings.Count(string(content), c.old) != 1 {
				t.Fatalf("the configuration has no %s: %s", c.old, content)
			}
			changed := []byte(strings.Replace(string(content), c.old, c.new, 1))
			sum := filepath.Join(streamPath(image, c.stream), metaSumName)
			must(t, os.WriteFile(path, changed, 0o600), os.WriteFile(sum, []byte(metaSum(changed, c.stream)), 0o600))
			b := openWitnessed(t, image, Always, uint64(len(log)))
			must(t, b.Damage())
			sameMessages(t, allOf(t, b), log)
			if got, err := b.Blobs(t.Context()); err != nil || len(got) != len(blobs) {
				t.Errorf("%d blobs, expected %d, %v", len(got), len(blobs), err)
			}
			if got := denialsOf(t, b.LoadDenials); !sameDenials(got, denials) {
				t.Errorf("%d refusals, expected %d", len(got), len(denials))
			}
		})
	}
}

// TestRenamedBlocksAreRead: whatever the files are called, every message is read, in order.
func TestRenamedBlocksAreRead(t *testing.T) {
	race.Without(t)
	dir, log, blobs, _ := filledStore(t)
	for name, c := range map[string]struct {
		moves [][2]string
		// faults is the minimum number of faults.
		faults int
	}{
		"two swapped":   {[][2]string{{"2.blk", "x"}, {"3.blk", "2.blk"}, {"x", "3.blk"}}, 2},
		"all turned":    {[][2]string{{"1.blk", "x"}, {"2.blk", "1.blk"}, {"3.blk", "2.blk"}, {"x", "3.blk"}}, 3},
		"the first one": {[][2]string{{"1.blk", "40.blk"}}, 1},
		"the last one":  {[][2]string{{"3.blk", "4000.blk"}}, 1},
		"a gap":         {[][2]string{{"2.blk", "5.blk"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			image := storeCopy(t, dir)
			messages := filepath.Join(streamPath(image, StreamName), "msgs")
			for _, move := range c.moves {
				must(t, os.Rename(filepath.Join(messages, move[0]), filepath.Join(messages, move[1])))
			}
			sameMessages(t, readable(t, image), log)
			r := mustOpenReadOnly(t, image)
			if len(r.Faults()) < c.faults {
				t.Errorf("faults: %v", r.Faults())
			}
			for _, f := range r.Faults() {
				if f.From != 0 || !strings.Contains(f.Why, "under another name") {
					t.Errorf("fault: %v", f)
				}
			}
			must(t, r.Close())
			// nats-server would find nothing in them.
			b := openWitnessed(t, image, Always, uint64(len(log)))
			if b.Damage() == nil {
				t.Error("nats-server got the renamed blocks")
			}
			sameMessages(t, allOf(t, b), log)
		})
	}
	t.Run("one of the blobs, damaged at its beginning", func(t *testing.T) {
		image := storeCopy(t, dir)
		messages := filepath.Join(streamPath(image, BlobStream), "msgs")
		must(t, os.Rename(filepath.Join(messages, "1.blk"), filepath.Join(messages, "3.blk")))
		flip(t, filepath.Join(messages, "3.blk"), func(int64) int64 { return 1 })
		r := mustOpenReadOnly(t, image)
		defer func() { must(t, r.Close()) }()
		whole := 0
		for digest := range blobs {
			if _, err := r.Blob(t.Context(), digest); err == nil {
				whole++
			}
		}
		if whole < len(blobs)-1 {
			t.Errorf("%d of %d blobs are read", whole, len(blobs))
		}
	})
}

// TestMessageMarkedDeletedIsAFault: nats-server would delete it when it opens the log.
func TestMessageMarkedDeletedIsAFault(t *testing.T) {
	s := scannedStream{name: StreamName, blocks: []scannedBlock{{
		index: 1,
		key:   1,
		places: []place{
			{sequence: 1, block: 1}, {sequence: 2, block: 1, offset: 100}, {sequence: 3, block: 1, offset: 200},
		},
		deleted: []uint64{2},
	}}}
	s.settle(true)
	if _, damage := s.judge(witnesses{witnessed: 3}); damage == nil {
		t.Errorf("faults: %v", s.faults)
	}
}
