// Package plan reads a plan: a YAML file that lists a project's tasks with their parents and dependencies under local
// ids.
//
// [Parse] checks the whole file first and reports every fault with its line, so that nothing is created from half a
// plan. The tasks of an accepted plan are in an order in which they can be created: parents first, and dependencies
// first as far as there is such an order.
//
// [Diff] compares a plan with the tasks of a project, and determines the command for each entry.
package plan
