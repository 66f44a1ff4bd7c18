package damage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// targets are the kinds of files that are harmed, each with the patterns of its files below a home. The log comes more
// often.
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

// harm does one random harm to a home, and says which.
func harm(random *rand.Rand, dir string) (string, error) {
	total := 0
	for _, target := range targets {
		total += target.times
	}
	for {
		pick := random.IntN(total)
		for _, target := range targets {
			if pick -= target.times; pick >= 0 {
				continue
			}
			var files []string
			for _, pattern := range target.patterns {
				found, err := filepath.Glob(filepath.Join(dir, pattern))
				if err != nil {
					return "", err
				}
				files = append(files, found...)
			}
			files = slices.DeleteFunc(files, func(path string) bool {
				info, err := os.Stat(path)
				return err != nil || info.Size() == 0
			})
			if len(files) == 0 {
				break // such as the note of a clean stop after kill -9
			}
			slices.Sort(files)
			path := files[random.IntN(len(files))]
			what, err := harmFile(random, path, files)
			return fmt.Sprintf("%s: %s: %s", target.name, strings.TrimPrefix(path, dir+"/"), what), err
		}
	}
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
		if other == path { // two parts of it
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
	// In place: a server that runs keeps its files open.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	_, err = f.WriteAt(content, 0)
	err = errors.Join(err, f.Truncate(int64(len(content))), f.Close())
	if err == nil && random.IntN(2) == 0 { // a disk that rots tells no time
		what += ", and nothing tells when"
		err = os.Chtimes(path, time.Now(), info.ModTime())
	}
	return what, err
}
