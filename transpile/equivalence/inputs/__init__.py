"""The inputs on which a program is compared."""
