package files

// HiddenMark is the name of a file in a directory that is hidden from an agent's processes, which find it empty
// otherwise.
const HiddenMark = "HIDDEN-FROM-AGENTS"
