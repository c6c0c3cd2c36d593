"""What depends on no argument, worked out when a module is written."""
