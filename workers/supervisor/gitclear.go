package supervisor

import (
	"crypto/sha256"
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

// Undone is something that an agent left in a repository, which led its user's git elsewhere, and which was undone.
type Undone struct {
	Path string `json:"path"`
	// Why says what it did, and what was done about it.
	Why string `json:"why"`
}

const (
	whyRedirected = "it led git to other hooks and another configuration; it was removed"
	whyBroken     = "without it, git would not take this for a repository and look for another one; it was restored"
)

// restoreGit undoes what leads git away from the repositories in a target: a file commondir, which an agent can create
// because git creates others beside it, and what is missing of a repository, because git then looks for another one
// there. known are the repositories that were there before the agent, nil if that is not known. Others are looked for.
// An error means that some may not have been found or restored; the rest is done.
func restoreGit(target string, known []gitRepository) (undone []Undone, err error) {
	root, err := disk.OpenRoot(target)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if known == nil {
		places, failed := checkouts(root)
		err = errors.Join(err, failed)
		for _, place := range places {
			if info, gone := root.Lstat(place); gone == nil && info.IsDir() {
				known = append(known, gitRepository{Dir: place})
			}
		}
	}
	r := &restoring{root: root, target: target}
	for _, repository := range known {
		failed := errors.Join(r.restore(repository), submodules(root, repository.Dir, r.removeCommon))
		err = errors.Join(err, failed)
	}
	return r.undone, files.Bare(err)
}

// NotRestored says what an error of [Saved.RestoreGit] means for whoever uses git in the target next.
func NotRestored(err error) string {
	return "something may still lead git to other hooks and another configuration (" +
		strings.ReplaceAll(err.Error(), "\n", "; ") + "): look at that before you use git there"
}

// restoring restores the repositories of a target.
type restoring struct {
	root   *disk.Root
	target string
	undone []Undone
}

func (r *restoring) undid(name, why string) {
	r.undone = append(r.undone, Undone{filepath.Join(r.target, name), why})
}

// restore makes a directory a repository again, if it was one.
func (r *restoring) restore(repository gitRepository) error {
	if repository.Open { // its directory may be in one that was closed
		_ = r.open(filepath.Dir(repository.Dir))
	}
	if info, err := r.root.Lstat(repository.Dir); err != nil || !info.IsDir() {
		if repository.Head == "" {
			return nil
		}
		return fmt.Errorf("the repository %s is gone", filepath.Join(r.target, repository.Dir))
	}
	var err error
	if repository.Open {
		err = r.open(repository.Dir)
	}
	err = errors.Join(err, r.removeCommon(repository.Dir))
	if repository.Head == "" {
		return err
	}
	for _, part := range repository.Parts {
		name := filepath.Join(repository.Dir, part)
		if info, gone := r.root.Lstat(name); gone != nil || !info.IsDir() {
			if failed := errors.Join(r.root.RemoveAll(name), r.root.Mkdir(name, 0o755)); failed != nil {
				err = errors.Join(err, failed)
				continue
			}
			r.undid(name, whyBroken)
		}
		if repository.Open {
			err = errors.Join(err, r.open(name))
		}
	}
	head := filepath.Join(repository.Dir, gitHead)
	if r.isHead(head) {
		return err
	}
	if failed := errors.Join(r.root.RemoveAll(head), r.write(head, repository.Head)); failed != nil {
		return errors.Join(err, failed)
	}
	r.undid(head, whyBroken)
	return err
}

// open lets the user into a directory and those above it, if an agent took that away.
func (r *restoring) open(name string) error {
	if parent := filepath.Dir(name); parent != "." && parent != name {
		if err := r.open(parent); err != nil {
			return err
		}
	}
	info, err := r.root.Lstat(name)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o700 == 0o700 {
		return err
	}
	return r.root.Chmod(name, info.Mode().Perm()|0o700)
}

// removeCommon removes what makes a repository one of a worktree, whose hooks and configuration are elsewhere.
func (r *restoring) removeCommon(repository string) error {
	name := filepath.Join(repository, gitCommon)
	if _, err := r.root.Lstat(name); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := r.root.RemoveAll(name); err != nil {
		return fmt.Errorf("%s is there and cannot be removed: %w", filepath.Join(r.target, name), err)
	}
	r.undid(name, whyRedirected)
	return nil
}

func (r *restoring) write(name, content string) error {
	f, err := r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}

// isHead reports whether git takes the HEAD of a repository for one.
func (r *restoring) isHead(name string) bool {
	info, err := r.root.Lstat(name)
	if err != nil {
		return false
	}
	path := filepath.Join(r.target, name)
	if info.Mode()&fs.ModeSymlink != 0 {
		leads, err := os.Readlink(path)
		return err == nil && strings.HasPrefix(leads, gitRefs+"/")
	}
	content, err := files.Read(r.root, name, mostConfig)
	return err == nil && isHead(string(content))
}

// isHead reports whether git takes a text for that of a HEAD: a branch, or a commit. It reads only its beginning.
func isHead(content string) bool {
	const reads = 255
	content = content[:min(len(content), reads)]
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

// digestsOf returns a digest of each file, and of the files in each directory, by its path.
func digestsOf(paths []string) map[string]string {
	all := make(map[string]string, len(paths))
	for _, path := range paths {
		all[path] = digestOf(path)
	}
	return all
}

func digestOf(path string) string {
	sum := sha256.New()
	add := func(name string) {
		fmt.Fprintf(sum, "%s\n", name)
		f, err := files.OpenNamed(name)
		if err != nil {
			fmt.Fprintln(sum, err)
			return
		}
		n, _ := io.Copy(sum, f)
		fmt.Fprintf(sum, "\n%d\n", n)
		_ = f.Close() // only read
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		add(path)
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			add(filepath.Join(path, entry.Name()))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
