package home

import (
	"fmt"
	"strconv"
	"strings"
)

// toldFile holds the sequence up to which the home's user was told what changed.
const toldFile = "told"

// Told gives the sequence up to which the user was told what changed; fs.ErrNotExist if that never was.
func (h *Home) Told() (uint64, error) {
	content, err := h.root.ReadFile(toldFile)
	if err != nil {
		return 0, fmt.Errorf("read the home's %s: %w", toldFile, err)
	}
	return strconv.ParseUint(strings.TrimSpace(string(content)), 10, 64)
}

// Tell notes up to which sequence the user was told.
func (h *Home) Tell(sequence uint64) error {
	return h.write(toldFile, []byte(strconv.FormatUint(sequence, 10)+"\n"))
}
