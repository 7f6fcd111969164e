//go:build !race

package agent_test

// checks is how many scripts each law is tried with, and replyCalls how many calls the
// largest reply has, which is the most that is taken of one.
const checks, replyCalls = "500", 1020
