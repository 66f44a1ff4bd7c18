package home

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

// toldFile holds the sequence up to which the home's user was told what changed; with a project's id behind it, of that
// one only.
const toldFile = "told"

func toldOf(project string) string {
	if project == "" {
		return toldFile
	}
	return toldFile + "-" + project
}

// Told gives the sequence up to which the user was told what changed in a project, or in all if it is "";
// fs.ErrNotExist if that never was. Who was told of all was told of each.
func (h *Home) Told(project string) (uint64, error) {
	all, err := h.told(toldFile)
	if project == "" || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return all, err
	}
	one, errOne := h.told(toldOf(project))
	switch {
	case errOne == nil:
		return max(all, one), nil
	case errors.Is(errOne, fs.ErrNotExist):
		return all, err
	}
	return 0, errOne
}

func (h *Home) told(name string) (uint64, error) {
	content, err := h.read(name, maxNote)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(content)), 10, 64)
}

// Tell notes up to which sequence the user was told, of a project that there is, or of all if it is "".
func (h *Home) Tell(project string, sequence uint64) error {
	return h.write(toldOf(project), []byte(strconv.FormatUint(sequence, 10)+"\n"))
}
