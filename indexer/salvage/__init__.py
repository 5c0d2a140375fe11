"""What can be read of a damaged truth file, page by page, and put into a new one."""
