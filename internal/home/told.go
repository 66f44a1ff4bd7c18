package home

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

// toldFile holds the sequence up to which the home's user was told what changed; with a project's id appended, for that
// project only. Users with a token of their own have a file of their own: they see less, or more, than the home's user.
const toldFile = "told"

func toldOf(token, project string) string {
	name := toldFile
	if token != "" {
		digest := sha256.Sum256([]byte(token))
		name += "." + hex.EncodeToString(digest[:8])
	}
	if project != "" {
		name += "-" + project
	}
	return name
}

// Told returns the sequence up to which the holder of a token, "" for the home's own, was told what changed in a
// project, or in all if it is ""; fs.ErrNotExist if there is none. Being told of all projects counts for each.
func (h *Home) Told(token, project string) (uint64, error) {
	all, err := h.readTold(toldOf(token, ""))
	if project == "" || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return all, err
	}
	one, errOne := h.readTold(toldOf(token, project))
	switch {
	case errOne == nil:
		return max(all, one), nil
	case errors.Is(errOne, fs.ErrNotExist):
		return all, err
	}
	return 0, errOne
}

func (h *Home) readTold(name string) (uint64, error) {
	content, err := h.read(name, maxNote)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(content)), 10, 64)
}

// Tell records the sequence up to which the holder of a token was told of an existing project, or of all if it is "".
func (h *Home) Tell(token, project string, sequence uint64) error {
	return h.write(toldOf(token, project), []byte(strconv.FormatUint(sequence, 10)+"\n"))
}
