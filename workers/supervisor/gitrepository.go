package supervisor

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"maestro/internal/disk"
	"maestro/internal/files"
)

// gitRepository is a repository in a target.
type gitRepository struct {
	// Dir is relative to the target.
	Dir string `json:"dir"`
	// Way are the directories from the target to it, with itself as the last one.
	Way []disk.Identity `json:"way"`
	// Head is the first line of its HEAD, "" if git would not take it for a repository.
	Head string `json:"head,omitempty"`
	// Parts are the directories that it must have to be one.
	Parts []gitPart `json:"has,omitempty"`
	// Open says that its user may enter these, and those above.
	Open bool `json:"open,omitempty"`
}

// gitPart is a directory in a repository.
type gitPart struct {
	Name string        `json:"name"`
	Is   disk.Identity `json:"is"`
}

// describe returns what makes a directory in the target a repository.
func (g *guard) describe(rel string) (found gitRepository, err error) {
	found = gitRepository{Dir: rel, Open: true}
	at, err := g.root.Enter(".")
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, at.Close()) }()
	see := func(info fs.FileInfo) disk.Identity {
		found.Open = found.Open && info.Mode().Perm()&0o700 == 0o700
		return disk.IdentityOf(info)
	}
	for _, part := range partsOf(rel) {
		next, err := at.Enter(part)
		if err != nil {
			return found, err
		}
		_ = at.Close() // only passed
		at = next
		info, err := at.Stat(".")
		if err != nil {
			return found, err
		}
		found.Way = append(found.Way, see(info))
	}
	if head, err := readHead(at); err == nil && isHead(head) {
		if branch, ok := strings.CutPrefix(head, "ref:"); ok { // it may be on a later line
			head = "ref: " + strings.TrimLeft(branch, " \t\n\r")
		}
		line, _, whole := strings.Cut(head, "\n")
		if !whole && len(head) >= headReads {
			return found, fmt.Errorf("the first line of %s has more than %d bytes",
				filepath.Join(g.target, rel, gitHead), headReads-1)
		}
		found.Head = line + "\n"
	}
	for _, part := range []string{gitObjects, gitRefs} {
		if info, err := at.Lstat(part); err == nil && info.IsDir() {
			found.Parts = append(found.Parts, gitPart{part, see(info)})
		}
	}
	return found, nil
}

// partsOf returns the names that lead from a root to a directory.
func partsOf(dir string) []string {
	if dir == "." {
		return nil
	}
	return strings.Split(dir, string(filepath.Separator))
}

// isHeadIn reports whether git takes the HEAD of a repository for one.
func isHeadIn(dir *disk.Root) bool {
	content, err := readHead(dir)
	return err == nil && isHead(content)
}

// headReads is how much of a HEAD git looks at to see whether it is one, in bytes.
const headReads = 255

// readHead returns the beginning of the HEAD of a repository. That of a link, as old versions of git make it, is what
// it means.
func readHead(dir *disk.Root) (string, error) {
	if leads, err := dir.Readlink(gitHead); err == nil {
		if !strings.HasPrefix(leads, gitRefs+"/") {
			return "", nil
		}
		return "ref: " + leads + "\n", nil
	}
	f, err := files.Open(dir, gitHead, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(f, headReads))
	return string(content), errors.Join(err, f.Close())
}

// isHead reports whether git takes a text for that of a HEAD: a branch, or a commit. It reads only its beginning.
func isHead(content string) bool {
	content = content[:min(len(content), headReads)]
	if branch, ok := strings.CutPrefix(content, "ref:"); ok {
		return strings.HasPrefix(strings.TrimLeft(branch, " \t\n\r"), gitRefs+"/")
	}
	return slices.ContainsFunc([]int{40, 64}, func(digits int) bool {
		if len(content) < digits {
			return false
		}
		_, err := hex.DecodeString(content[:digits])
		return err == nil
	})
}
