package damage

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// targets are the kinds of files that are damaged, each with the patterns of its files below a home. The log occurs
// several times, so that it is drawn more often.
var targets = []struct {
	name     string
	patterns []string
	times    int
}{
	{"a block of the log", []string{"store/jetstream/$G/streams/MAESTRO/msgs/*.blk"}, 6},
	{"a block of long texts", []string{"store/jetstream/$G/streams/OBJ_MAESTRO_BLOBS/msgs/*.blk"}, 3},
	{"a block of refusals", []string{"store/jetstream/$G/streams/MAESTRO_DENIED/msgs/*.blk"}, 1},
	{"an index", []string{"store/jetstream/$G/streams/*/msgs/index.db"}, 2},
	{"a configuration", []string{"store/jetstream/$G/streams/*/meta.inf", "store/jetstream/$G/streams/*/meta.sum"}, 2},
	{"the head file", []string{"head"}, 1},
	{"a snapshot", []string{"snapshots/*.snapshot"}, 2},
	{"the note of the clean stop", []string{"store/clean.json"}, 1},
}

// structural are kinds of damage to names and directories, with their weights.
var structural = []struct {
	name  string
	harm  func(random *rand.Rand, dir string) (string, error)
	times int
}{
	{"a block under another name", renameBlock, 3},
	{"a stray directory of the server", strayDirectory, 3},
	{"a plain file for a directory", fileForDirectory, 2},
	{"the head file and the last block", loseEnd, 2},
	{"another kind of file", anotherKind, 4},
	{"the head file and a bit of the first block", loseHeadAndBit, 2},
	{"an interrupted rebuild", interruptRebuild, 2},
}

// harm damages a home at random, and returns the kind of damage and a description.
func harm(random *rand.Rand, dir string) (kind, what string, err error) {
	total := 0
	for _, target := range targets {
		total += target.times
	}
	for _, s := range structural {
		total += s.times
	}
	for {
		pick := random.IntN(total)
		for _, s := range structural {
			if pick -= s.times; pick < 0 {
				what, err := s.harm(random, dir)
				return s.name, what, err
			}
		}
		for _, target := range targets {
			if pick -= target.times; pick >= 0 {
				continue
			}
			files, err := filesOf(dir, target.patterns)
			if err != nil {
				return "", "", err
			}
			if len(files) == 0 {
				break // such as the record of a clean stop, after kill -9
			}
			path := files[random.IntN(len(files))]
			what, err := harmFile(random, path, files)
			return target.name, strings.TrimPrefix(path, dir+"/") + ": " + what, err
		}
	}
}

// filesOf returns the files below a home that have content, in order.
func filesOf(dir string, patterns []string) ([]string, error) {
	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	files = slices.DeleteFunc(files, func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || info.Size() == 0
	})
	slices.Sort(files)
	return files, nil
}

const streamsDir = "store/jetstream/$G/streams"

func anyStream(random *rand.Rand, dir string) string {
	names := []string{"MAESTRO", "MAESTRO", "OBJ_MAESTRO_BLOBS", "MAESTRO_DENIED"}
	return filepath.Join(dir, streamsDir, names[random.IntN(len(names))])
}

func renameBlock(random *rand.Rand, dir string) (string, error) {
	messages := filepath.Join(anyStream(random, dir), "msgs")
	blocks, err := filepath.Glob(filepath.Join(messages, "*.blk"))
	if err != nil || len(blocks) == 0 {
		return "no block", err
	}
	from := blocks[random.IntN(len(blocks))]
	to := from
	for to == from {
		to = filepath.Join(messages, fmt.Sprintf("%d.blk", 1+random.IntN(9)))
	}
	what := fmt.Sprintf("%s: renamed to %s", strings.TrimPrefix(from, dir+"/"), filepath.Base(to))
	if _, err := os.Stat(to); err != nil {
		return what, os.Rename(from, to)
	}
	aside := to + ".x"
	return what + ", and the other to it",
		errors.Join(os.Rename(to, aside), os.Rename(from, to), os.Rename(aside, from))
}

func strayDirectory(random *rand.Rand, dir string) (string, error) {
	stream := anyStream(random, dir)
	stray := filepath.Join(stream, []string{"__new_msgs__", "__msgs__"}[random.IntN(2)])
	name := []string{"1.blk", "1.key", "2.blk"}[random.IntN(3)]
	return strings.TrimPrefix(stray, dir+"/") + " with " + name,
		errors.Join(os.Mkdir(stray, 0o700), os.WriteFile(filepath.Join(stray, name), []byte("stray"), 0o600))
}

func fileForDirectory(random *rand.Rand, dir string) (string, error) {
	path := anyStream(random, dir)
	if random.IntN(2) == 0 {
		path = filepath.Join(path, "msgs")
	}
	return strings.TrimPrefix(path, dir+"/"),
		errors.Join(os.RemoveAll(path), os.WriteFile(path, []byte("no directory"), 0o600))
}

// anotherKind replaces a file with something else.
func anotherKind(random *rand.Rand, dir string) (string, error) {
	files, err := filesOf(dir, []string{
		streamsDir + "/*/msgs/*.blk", streamsDir + "/*/msgs/*.blk", streamsDir + "/*/msgs/index.db",
		streamsDir + "/*/meta.*", "head", "snapshots/*.snapshot",
	})
	if err != nil || len(files) == 0 {
		return "no file", err
	}
	path := files[random.IntN(len(files))]
	kinds := []struct {
		name string
		put  func() error
	}{
		{"a link to itself", func() error { return os.Symlink(path, path) }},
		{"a link to nothing", func() error { return os.Symlink(path+".none", path) }},
		{"a directory", func() error { return os.MkdirAll(filepath.Join(path, "full"), 0o700) }},
		{"a named pipe", func() error { return namedPipe(path) }},
	}
	kind := kinds[random.IntN(len(kinds))]
	return strings.TrimPrefix(path, dir+"/") + ": " + kind.name, errors.Join(os.Remove(path), kind.put())
}

func loseHeadAndBit(random *rand.Rand, dir string) (string, error) {
	path := filepath.Join(dir, streamsDir, "MAESTRO", "msgs", "1.blk")
	content, err := os.ReadFile(path)
	if err != nil {
		return "no block", nil //nolint:nilerr // an earlier harm took it
	}
	at := random.IntN(len(content) / 2)
	content[at] ^= 1 << random.IntN(8)
	return fmt.Sprintf("a bit flipped at %d of %d", at, len(content)),
		errors.Join(os.WriteFile(path, content, 0o600), os.RemoveAll(filepath.Join(dir, "head")))
}

// interruptRebuild leaves the files of a server that is killed after it set a stream aside, with or without
// rebuild.json.
func interruptRebuild(random *rand.Rand, dir string) (string, error) {
	stream := []string{"OBJ_MAESTRO_BLOBS", "MAESTRO_DENIED"}[random.IntN(2)]
	name := "store.damaged-20260102T030405Z-" + strings.ToLower(stream)
	to := filepath.Join(dir, name, strings.TrimPrefix(streamsDir, "store/"), stream)
	err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.Rename(filepath.Join(dir, streamsDir, stream), to))
	lists := []string{fmt.Sprintf("{%q:[%q]}", stream, name), "junk", ""}
	list := lists[random.IntN(len(lists))]
	if list != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "store", "rebuild.json"), []byte(list), 0o600))
	}
	return stream + ", the list is " + list, err
}

func loseEnd(_ *rand.Rand, dir string) (string, error) {
	blocks, err := filesOf(dir, []string{streamsDir + "/MAESTRO/msgs/*.blk"})
	if err != nil || len(blocks) == 0 {
		return "no block", err
	}
	last := blocks[len(blocks)-1]
	err = os.Remove(filepath.Join(dir, "head"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return strings.TrimPrefix(last, dir+"/"), errors.Join(err, os.Remove(last))
}

func harmFile(random *rand.Rand, path string, others []string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	at := random.IntN(len(content))
	what := ""
	switch random.IntN(6) {
	case 0, 1:
		what = fmt.Sprintf("a bit flipped at %d of %d", at, len(content))
		content[at] ^= 1 << random.IntN(8)
	case 2:
		what = fmt.Sprintf("cut to %d of %d", at, len(content))
		content = content[:at]
	case 3:
		end := min(len(content), at+4096)
		what = fmt.Sprintf("zeros from %d to %d of %d", at, end, len(content))
		clear(content[at:end])
	case 4:
		other := others[random.IntN(len(others))]
		if other == path { // two parts of the same file
			half := at / 2
			what = fmt.Sprintf("its first %d bytes and the next %d swapped", half, half)
			content = slices.Concat(content[half:2*half], content[:half], content[2*half:])
			break
		}
		theirs, err := os.ReadFile(other)
		if err != nil {
			return "", err
		}
		what = "swapped with " + filepath.Base(filepath.Dir(filepath.Dir(other))) + "/" + filepath.Base(other)
		if err := os.WriteFile(other, content, 0o600); err != nil {
			return "", err
		}
		content = theirs
	case 5:
		return "deleted", os.Remove(path)
	}
	// It writes in place, because a running server keeps its files open.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	_, err = f.WriteAt(content, 0)
	err = errors.Join(err, f.Truncate(int64(len(content))), f.Close())
	if err == nil && random.IntN(2) == 0 { // a decaying disk does not change the modification time
		what += ", and nothing tells when"
		err = os.Chtimes(path, time.Now(), info.ModTime())
	}
	return what, err
}
