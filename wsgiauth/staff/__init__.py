"""What every feature with pages for the staff needs: the frame of the panel, rights, actions."""
